"""Entries on conformal prediction, quantile regression and architecture search."""

from __future__ import annotations

_PMLR = "Proceedings of Machine Learning Research"
_NEURIPS = "Advances in Neural Information Processing Systems"

CONFORMAL: dict[str, tuple[str, dict[str, str]]] = {
    "barber2021": (
        "article",
        {
            "author": "Barber, Rina Foygel and Cand{\\`e}s, Emmanuel J. and Ramdas, Aaditya and Tibshirani, Ryan J.",
            "title": "Distribution Inference with the Jackknife+",
            "journal": "The Annals of Statistics",
            "volume": "49",
            "pages": "486--507",
            "year": "2021",
        },
    ),
    "chen2025": (
        "mastersthesis",
        {
            "author": "Chen, Cheng",
            "title": "Uncertainty Calibration with Online Conformal Prediction in Neural Architecture Search: An "
            "Evaluation under the {BANANAS} Framework",
            "school": "University of Mannheim",
            "year": "2025",
        },
    ),
    "gibbs2021": (
        "inproceedings",
        {
            "author": "Gibbs, Isaac and Cand{\\`e}s, Emmanuel J.",
            "title": "Adaptive Conformal Inference Under Distribution Shift",
            "booktitle": _NEURIPS,
            "volume": "34",
            "pages": "1660--1672",
            "year": "2021",
        },
    ),
    "kim2020": (
        "inproceedings",
        {
            "author": "Kim, Byol and Xu, Chen and Barber, Rina Foygel",
            "title": "Distribution Inference Is Free with the Jackknife+-after-Bootstrap",
            "booktitle": _NEURIPS,
            "volume": "33",
            "pages": "4138--4149",
            "year": "2020",
        },
    ),
    "meinshausen2006": (
        "article",
        {
            "author": "Meinshausen, Nicolai",
            "title": "Quantile Regression Forests",
            "journal": "Journal of Machine Learning Research",
            "volume": "7",
            "pages": "983--999",
            "year": "2006",
        },
    ),
    "romano2019": (
        "inproceedings",
        {
            "author": "Romano, Yaniv and Patterson, Evan and Cand{\\`e}s, Emmanuel J.",
            "title": "Conformalized Quantile Regression",
            "booktitle": _NEURIPS,
            "volume": "32",
            "year": "2019",
        },
    ),
    "salinas2023": (
        "inproceedings",
        {
            "author": "Salinas, David and Golebiowski, Jacek and Klein, Aaron and Seeger, Matthias and Archambeau, Cedric",
            "title": "Optimizing Hyperparameters with Conformal Quantile Regression",
            "booktitle": "Proceedings of the 40th International Conference on Machine Learning",
            "series": _PMLR,
            "volume": "202",
            "pages": "29876--29893",
            "year": "2023",
        },
    ),
    "vovk2005": (
        "book",
        {
            "author": "Vovk, Vladimir and Gammerman, Alexander and Shafer, Glenn",
            "title": "Algorithmic Learning in a Random World",
            "publisher": "Springer",
            "year": "2005",
        },
    ),
    "white2021": (
        "inproceedings",
        {
            "author": "White, Colin and Neiswanger, Willie and Savani, Yash",
            "title": "{BANANAS}: {Bayesian} Optimization with Neural Architectures for Neural Architecture Search",
            "booktitle": "Proceedings of the {AAAI} Conference on Artificial Intelligence",
            "volume": "35",
            "pages": "10293--10301",
            "year": "2021",
        },
    ),
}
