import { killedInSeries } from "./Series.js"

killedInSeries("care", "SQLite", [], 2)
