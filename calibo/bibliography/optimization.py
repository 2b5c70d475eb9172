"""Entries on Bayesian optimization, calibration and what calibo stands on."""

from __future__ import annotations

_PMLR = "Proceedings of Machine Learning Research"
_NEURIPS = "Advances in Neural Information Processing Systems"

OPTIMIZATION: dict[str, tuple[str, dict[str, str]]] = {
    "akiba2019": (
        "inproceedings",
        {
            "author": "Akiba, Takuya and Sano, Shotaro and Yanase, Toshihiko and Ohta, Takeru and Koyama, Masanori",
            "title": "{Optuna}: A Next-generation Hyperparameter Optimization Framework",
            "booktitle": "Proceedings of the 25th {ACM} {SIGKDD} International Conference on Knowledge "
            "Discovery \\& Data Mining",
            "pages": "2623--2631",
            "year": "2019",
            "doi": "10.1145/3292500.3330701",
        },
    ),
    "ament2023": (
        "inproceedings",
        {
            "author": "Ament, Sebastian and Daulton, Samuel and Eriksson, David and Balandat, Maximilian and "
            "Bakshy, Eytan",
            "title": "Unexpected Improvements to Expected Improvement for {Bayesian} Optimization",
            "booktitle": _NEURIPS,
            "volume": "36",
            "year": "2023",
        },
    ),
    "balandat2020": (
        "inproceedings",
        {
            "author": "Balandat, Maximilian and Karrer, Brian and Jiang, Daniel R. and Daulton, Samuel and Letham, "
            "Benjamin and Wilson, Andrew Gordon and Bakshy, Eytan",
            "title": "{BoTorch}: A Framework for Efficient {Monte-Carlo} {Bayesian} Optimization",
            "booktitle": _NEURIPS,
            "volume": "33",
            "year": "2020",
        },
    ),
    "chen2016": (
        "inproceedings",
        {
            "author": "Chen, Tianqi and Guestrin, Carlos",
            "title": "{XGBoost}: A Scalable Tree Boosting System",
            "booktitle": "Proceedings of the 22nd {ACM} {SIGKDD} International Conference on Knowledge "
            "Discovery and Data Mining",
            "pages": "785--794",
            "year": "2016",
            "doi": "10.1145/2939672.2939785",
        },
    ),
    "dawid1984": (
        "article",
        {
            "author": "Dawid, A. P.",
            "title": "Statistical Theory: The Prequential Approach",
            "journal": "Journal of the Royal Statistical Society. Series A (General)",
            "volume": "147",
            "number": "2",
            "pages": "278--292",
            "year": "1984",
            "doi": "10.2307/2981683",
        },
    ),
    "deshpande2024": (
        "inproceedings",
        {
            "author": "Deshpande, Shachi and Marx, Charles and Kuleshov, Volodymyr",
            "title": "Online Calibrated and Conformal Prediction Improves {Bayesian} Optimization",
            "booktitle": "Proceedings of the 27th International Conference on Artificial Intelligence and Statistics",
            "series": _PMLR,
            "volume": "238",
            "pages": "1450--1458",
            "year": "2024",
        },
    ),
    "guo2017": (
        "inproceedings",
        {
            "author": "Guo, Chuan and Pleiss, Geoff and Sun, Yu and Weinberger, Kilian Q.",
            "title": "On Calibration of Modern Neural Networks",
            "booktitle": "Proceedings of the 34th International Conference on Machine Learning",
            "series": _PMLR,
            "volume": "70",
            "pages": "1321--1330",
            "year": "2017",
        },
    ),
    "hvarfner2024": (
        "inproceedings",
        {
            "author": "Hvarfner, Carl and Hellsten, Erik Orm and Nardi, Luigi",
            "title": "Vanilla {Bayesian} Optimization Performs Great in High Dimensions",
            "booktitle": "Proceedings of the 41st International Conference on Machine Learning",
            "series": _PMLR,
            "volume": "235",
            "pages": "20793--20817",
            "year": "2024",
        },
    ),
    "jones1998": (
        "article",
        {
            "author": "Jones, Donald R. and Schonlau, Matthias and Welch, William J.",
            "title": "Efficient Global Optimization of Expensive Black-Box Functions",
            "journal": "Journal of Global Optimization",
            "volume": "13",
            "number": "4",
            "pages": "455--492",
            "year": "1998",
            "doi": "10.1023/A:1008306431147",
        },
    ),
    "kuleshov2018": (
        "inproceedings",
        {
            "author": "Kuleshov, Volodymyr and Fenner, Nathan and Ermon, Stefano",
            "title": "Accurate Uncertainties for Deep Learning Using Calibrated Regression",
            "booktitle": "Proceedings of the 35th International Conference on Machine Learning",
            "series": _PMLR,
            "volume": "80",
            "pages": "2796--2804",
            "year": "2018",
        },
    ),
    "kushner1964": (
        "article",
        {
            "author": "Kushner, Harold J.",
            "title": "A New Method of Locating the Maximum Point of an Arbitrary Multipeak Curve in the Presence of "
            "Noise",
            "journal": "Journal of Basic Engineering",
            "volume": "86",
            "number": "1",
            "pages": "97--106",
            "year": "1964",
            "doi": "10.1115/1.3653121",
        },
    ),
    "pedregosa2011": (
        "article",
        {
            "author": "Pedregosa, Fabian and others",
            "title": "Scikit-learn: Machine Learning in {Python}",
            "journal": "Journal of Machine Learning Research",
            "volume": "12",
            "pages": "2825--2830",
            "year": "2011",
        },
    ),
    "rasmussen2006": (
        "book",
        {
            "author": "Rasmussen, Carl Edward and Williams, Christopher K. I.",
            "title": "{Gaussian} Processes for Machine Learning",
            "publisher": "MIT Press",
            "year": "2006",
        },
    ),
    "srinivas2010": (
        "inproceedings",
        {
            "author": "Srinivas, Niranjan and Krause, Andreas and Kakade, Sham M. and Seeger, Matthias",
            "title": "{Gaussian} Process Optimization in the Bandit Setting: No Regret and Experimental Design",
            "booktitle": "Proceedings of the 27th International Conference on Machine Learning",
            "pages": "1015--1022",
            "year": "2010",
        },
    ),
    "thompson1933": (
        "article",
        {
            "author": "Thompson, William R.",
            "title": "On the Likelihood that One Unknown Probability Exceeds Another in View of the Evidence of "
            "Two Samples",
            "journal": "Biometrika",
            "volume": "25",
            "number": "3/4",
            "pages": "285--294",
            "year": "1933",
            "doi": "10.2307/2332286",
        },
    ),
    "wilson2018": (
        "inproceedings",
        {
            "author": "Wilson, James T. and Hutter, Frank and Deisenroth, Marc Peter",
            "title": "Maximizing acquisition functions for {Bayesian} optimization",
            "booktitle": _NEURIPS,
            "volume": "31",
            "year": "2018",
        },
    ),
    "eriksson2019": (
        "inproceedings",
        {
            "author": "Eriksson, David and Pearce, Michael and Gardner, Jacob R. and Turner, Ryan D. and Poloczek, Matthias",
            "title": "Scalable Global Optimization via Local {Bayesian} Optimization",
            "booktitle": _NEURIPS,
            "volume": "32",
            "pages": "5497--5508",
            "year": "2019",
        },
    ),
    "gibbs2024": (
        "article",
        {
            "author": "Gibbs, Isaac and Cand{\\`e}s, Emmanuel J.",
            "title": "Conformal Inference for Online Prediction with Arbitrary Distribution Shifts",
            "journal": "Journal of Machine Learning Research",
            "volume": "25",
            "number": "162",
            "pages": "1--36",
            "year": "2024",
        },
    ),
    "griffiths2022": (
        "article",
        {
            "author": "Griffiths, Ryan-Rhys and Aldrick, Alexander A. and Garcia-Ortegon, Miguel and Lalchand, Vidhi and "
            "Lee, Alpha A.",
            "title": "Achieving Robustness to Aleatoric Uncertainty with Heteroscedastic {Bayesian} Optimisation",
            "journal": "Machine Learning: Science and Technology",
            "volume": "3",
            "number": "1",
            "pages": "015004",
            "year": "2022",
            "doi": "10.1088/2632-2153/ac298c",
        },
    ),
    "kersting2007": (
        "inproceedings",
        {
            "author": "Kersting, Kristian and Plagemann, Christian and Pfaff, Patrick and Burgard, Wolfram",
            "title": "Most Likely Heteroscedastic {Gaussian} Process Regression",
            "booktitle": "Proceedings of the 24th International Conference on Machine Learning",
            "pages": "393--400",
            "year": "2007",
            "doi": "10.1145/1273496.1273546",
        },
    ),
    "kim2025": (
        "article",
        {
            "author": "Kim, Dongwon and Zecchin, Matteo and Park, Sangwoo and Kang, Joonhyuk and Simeone, Osvaldo",
            "title": "Robust {Bayesian} Optimization via Localized Online Conformal Prediction",
            "journal": "{IEEE} Transactions on Signal Processing",
            "volume": "73",
            "pages": "2039--2052",
            "year": "2025",
            "doi": "10.1109/TSP.2025.3559568",
        },
    ),
    "letham2019": (
        "article",
        {
            "author": "Letham, Benjamin and Karrer, Brian and Ottoni, Guilherme and Bakshy, Eytan",
            "title": "Constrained {Bayesian} Optimization with Noisy Experiments",
            "journal": "Bayesian Analysis",
            "volume": "14",
            "number": "2",
            "pages": "495--519",
            "year": "2019",
            "doi": "10.1214/18-BA1110",
        },
    ),
    "makarova2021": (
        "inproceedings",
        {
            "author": "Makarova, Anastasia and Usmanova, Ilnura and Bogunovic, Ilija and Krause, Andreas",
            "title": "Risk-averse Heteroscedastic {Bayesian} Optimization",
            "booktitle": _NEURIPS,
            "volume": "34",
            "pages": "17235--17245",
            "year": "2021",
        },
    ),
    "rahimi2007": (
        "inproceedings",
        {
            "author": "Rahimi, Ali and Recht, Benjamin",
            "title": "Random Features for Large-Scale Kernel Machines",
            "booktitle": _NEURIPS,
            "volume": "20",
            "year": "2007",
        },
    ),
    "stanton2023": (
        "inproceedings",
        {
            "author": "Stanton, Samuel and Maddox, Wesley and Wilson, Andrew Gordon",
            "title": "{Bayesian} Optimization with Conformal Prediction Sets",
            "booktitle": "Proceedings of the 26th International Conference on Artificial Intelligence and Statistics",
            "series": _PMLR,
            "volume": "206",
            "pages": "959--986",
            "year": "2023",
        },
    ),
    "welling2011": (
        "inproceedings",
        {
            "author": "Welling, Max and Teh, Yee Whye",
            "title": "{Bayesian} Learning via Stochastic Gradient {Langevin} Dynamics",
            "booktitle": "Proceedings of the 28th International Conference on Machine Learning",
            "pages": "681--688",
            "year": "2011",
        },
    ),
    "zaffran2022": (
        "inproceedings",
        {
            "author": "Zaffran, Margaux and F{\\'e}ron, Olivier and Goude, Yannig and Josse, Julie and Dieuleveut, Aymeric",
            "title": "Adaptive Conformal Predictions for Time Series",
            "booktitle": "Proceedings of the 39th International Conference on Machine Learning",
            "series": _PMLR,
            "volume": "162",
            "pages": "25834--25866",
            "year": "2022",
        },
    ),
    "yang2019": (
        "article",
        {
            "author": "Yang, Kaifeng and Emmerich, Michael and Deutz, Andr{\\'e} and B{\\\"a}ck, Thomas",
            "title": "Efficient computation of expected hypervolume improvement using box decomposition algorithms",
            "journal": "Journal of Global Optimization",
            "volume": "75",
            "pages": "3--34",
            "year": "2019",
        },
    ),
    "daulton2021": (
        "inproceedings",
        {
            "author": "Daulton, Samuel and Balandat, Maximilian and Bakshy, Eytan",
            "title": "Parallel {Bayesian} Optimization of Multiple Noisy Objectives with Expected Hypervolume Improvement",
            "booktitle": _NEURIPS,
            "volume": "34",
            "year": "2021",
        },
    ),
    "knowles2006": (
        "article",
        {
            "author": "Knowles, Joshua",
            "title": "{ParEGO}: A Hybrid Algorithm with On-line Landscape Approximation for Expensive Multiobjective "
            "Optimization Problems",
            "journal": "{IEEE} Transactions on Evolutionary Computation",
            "volume": "10",
            "pages": "50--66",
            "year": "2006",
        },
    ),
    "song2022": (
        "inproceedings",
        {
            "author": "Song, Jiaming and Yu, Lantao and Neiswanger, Willie and Ermon, Stefano",
            "title": "A General Recipe for Likelihood-free {Bayesian} Optimization",
            "booktitle": "Proceedings of the 39th International Conference on Machine Learning",
            "series": _PMLR,
            "volume": "162",
            "pages": "20384--20404",
            "year": "2022",
        },
    ),
    "tiao2021": (
        "inproceedings",
        {
            "author": "Tiao, Louis C. and Klein, Aaron and Seeger, Matthias W. and Bonilla, Edwin V. and Archambeau, "
            "Cedric and Ramos, Fabio",
            "title": "{BORE}: {Bayesian} Optimization by Density-Ratio Estimation",
            "booktitle": "Proceedings of the 38th International Conference on Machine Learning",
            "series": _PMLR,
            "volume": "139",
            "pages": "10289--10300",
            "year": "2021",
        },
    ),
}
