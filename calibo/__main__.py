"""``python -m calibo`` is the command ``calibo``."""

from calibo.cli import main

if __name__ == "__main__":
    main()
