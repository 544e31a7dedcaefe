import { killedInSeries } from "./Series.js"

killedInSeries("tools", "SQLite", [], 2)
