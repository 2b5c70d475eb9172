"""The paper's settings (section 5, appendices B and C), what one run is, and the methods compared."""

from __future__ import annotations

from dataclasses import dataclass

from calibo.classifiers import MLP, BySize, Classifier, Improvement, Power, Probability, RandomForest, XGBoost
from calibo.methods import bore, composite_lfbo, gp_ei, lfbo
from calibo.optimize import Strategy
from calibo.search import Mutation

#: Classifiers that depend on nothing but their name.
CLASSIFIERS: dict[str, Classifier] = {"XGBoost": XGBoost(), "default": BySize()}
FOREST = "RF"
PAPERS = ("MLP", FOREST, "XGBoost")
LFBO, BORE, GP, TPE, RANDOM = "LFBO", "BORE", "GP-EI", "TPE", "random search"
GP_BOTORCH, COMPOSITE_LFBO, COMPOSITE_EI = "GP-EI (BoTorch)", "composite LFBO", "composite EI (BoTorch)"
LFBO_PI, LFBO_EI = "LFBO (PI)", "LFBO (EI)"
OURS = "LFBO default"
#: After a method's name: the mean of all trainings of a configuration is measured, not one of them.
MEANS = ", means"

FCNET = {
    "naval": "naval_propulsion",
    "parkinsons": "parkinsons_telemonitoring",
    "protein": "protein_structure",
    "slice": "slice_localization",
}
NAS = {"cifar10": "cifar10", "cifar100": "cifar100", "imagenet": "imagenet16_120"}
GAMMA = 1.0 / 3.0
GAMMAS = (0.15, GAMMA, 0.67)
POWERS = (0.0, 0.5, 1.0, 1.5, 2.0)
#: Random candidates among which an acquisition function is maximised on the tables.
CANDIDATES = 5000
#: A Forrester run has found the optimum if its regret is below this.
FOUND = 0.05


def is_forest(method: str) -> bool:
    """Return whether a method learns with a random forest."""
    return method.endswith(f" {FOREST}")


@dataclass(frozen=True)
class Job:
    """One run, with all that determines its result.

    Attributes:
        problem: "curve" (Figure 3), a key of ``FCNET`` or ``NAS``, "environmental", "forrester" or "timing".
        method: As the legends call it.
        seed: Gives the initial points, the noise and the search.
        initial: Random initial points; of "timing", the results there are.
        steps: Evaluations after them; of "curve", the observations; of "timing", the suggestions timed.
        gamma: Share of the points above the threshold; ``None`` for a method without one.
        power: Exponent of the utility (y - tau)^power; ``None`` for a method without one.
        trees: Of a forest; ``None`` for a method without one.
        means: Whether the mean of all trainings of a configuration is measured; ``None`` if it is one of them.
    """

    problem: str
    method: str
    seed: int
    initial: int
    steps: int
    gamma: float | None = None
    power: float | None = None
    trees: int | None = None
    means: bool | None = None


@dataclass(frozen=True)
class Size:
    """How much is run.

    Attributes:
        observations: Numbers n of Figure 3.
        initial: Random evaluations of the tables.
        steps: Evaluations of the tables after them.
        composite_steps: Of Figure 7.
        forrester_initial: Random evaluations of Figure 11.
        forrester_steps: Evaluations of Figure 11 after them.
        timed: Numbers of results at which suggestions are timed.
        timings: Suggestions that are timed at each.
        fcnet: Tables of Figure 4.
        nas: Data sets of Figure 5.
        ablated: Tables of Figures 6 and 9.
        trees: Of a forest.
        repeats: By figure.
        few_repeats: Of methods with a forest, whose runs take longest, and of our own line, of which the paper says nothing.
        many_repeats: Of searches of means, of which more are needed to tell two methods apart.
    """

    observations: tuple[int, ...]
    initial: int
    steps: int
    composite_steps: int
    forrester_initial: int
    forrester_steps: int
    timed: tuple[int, ...]
    timings: int
    fcnet: tuple[str, ...]
    nas: tuple[str, ...]
    ablated: tuple[str, ...]
    trees: int
    repeats: dict[str, int]
    few_repeats: int = 10
    many_repeats: int = 60

    def seeds(self, number: str, method: str) -> int:
        """Return the repeats of a method in a figure."""
        if method.endswith(MEANS):
            return self.many_repeats
        few = is_forest(method) or (method == OURS and number in ("4", "5"))
        return min(self.repeats[number], self.few_repeats) if few else self.repeats[number]


_TABLES = 30
#: The paper does not name the "two HPOBench problems" of Figures 6 and 9; one is run, for the sake of time. It has n up to
#: 10^6 and 5 seeds in Figure 3 and 100 seeds on the tables; for how many evaluations, the text does not say.
FULL = Size(
    observations=(10, 100, 1000, 10_000, 100_000, 1_000_000),
    initial=10,
    steps=60,
    composite_steps=40,
    forrester_initial=10,
    forrester_steps=22,
    timed=(200,),
    timings=1,
    fcnet=tuple(FCNET),
    nas=tuple(NAS),
    ablated=("protein",),
    trees=1000,
    repeats={"3": 30, "4": _TABLES, "5": _TABLES, "6": _TABLES, "7": 10, "9": _TABLES, "11": 30, "C2": 10},
)
SMOKE = Size(
    observations=(100,),
    initial=4,
    steps=2,
    composite_steps=1,
    forrester_initial=3,
    forrester_steps=2,
    timed=(12,),
    timings=1,
    fcnet=("protein",),
    nas=("imagenet",),
    ablated=("protein",),
    trees=20,
    many_repeats=2,
    repeats={"3": 1, "4": 2, "5": 1, "6": 1, "7": 1, "9": 1, "11": 2, "C2": 1},
)


#: What Figures 4 and 5 compare: the classifiers in LFBO and BORE, and the others; last is ours.
TABLE_METHODS = (*(f"{way} {name}" for name in PAPERS for way in (LFBO, BORE)), TPE, GP, RANDOM, OURS)
#: Beside them in Figure 4: the network where measurements have no noise.
MEANS_METHODS = (f"{LFBO} MLP{MEANS}", f"{BORE} MLP{MEANS}")


def table_job(problem: str, method: str, size: Size, *, gamma: float | None = None, power: float | None = None) -> Job:
    """Return the job of seed 0 on a table; what a method does not use is left out."""
    free = method.startswith((LFBO, BORE))
    return Job(
        problem=problem,
        method=method,
        seed=0,
        initial=size.initial,
        steps=size.steps,
        gamma=(GAMMA if gamma is None else gamma) if free else None,
        # The weights of lambda = 1 are those of the improvement, so those runs are the same.
        power=None if power == 1.0 or not method.startswith(LFBO) else power,
        trees=trees_of(method, size),
        means=True if method.endswith(MEANS) else None,
    )


def trees_of(method: str, size: Size) -> int | None:
    """Return the trees of a method's forest; ``None`` if it has none."""
    return size.trees if is_forest(method) else None


def classifier_of(name: str, job: Job) -> Classifier:
    """Return the classifier of a name for a job.

    Networks see columns and indicators from 0 to 1, as the paper's do, and each seed starts from a network of its own.
    """
    if name == FOREST:
        assert job.trees is not None, job
        return RandomForest(trees=job.trees)
    return MLP(centred=False, seed=job.seed) if name == "MLP" else CLASSIFIERS[name]


def strategy(job: Job) -> Strategy:
    """Return the method of a job, composed of the library's parts; not for those of others (``peers``)."""
    if job.method == GP:
        return gp_ei()
    if job.method == COMPOSITE_LFBO:
        return composite_lfbo()
    way, _, name = job.method.removesuffix(MEANS).partition(" ")
    classifier, gamma = classifier_of(name, job), GAMMA if job.gamma is None else job.gamma
    # On the tables the paper scores random candidates only; elsewhere, and in our own line, the library's search is used.
    random = name in PAPERS and job.problem not in ("environmental", "forrester")
    search = Mutation(scored=CANDIDATES, around=0) if random else None
    if way == BORE:
        return bore(classifier=classifier, gamma=gamma, search=search)
    assert way == LFBO, job.method
    utility = Improvement() if job.power is None else Probability() if job.power == 0.0 else Power(job.power)
    return lfbo(classifier=classifier, gamma=gamma, utility=utility, search=search)
