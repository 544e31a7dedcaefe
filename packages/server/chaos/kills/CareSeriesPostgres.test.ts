import { killedInSeries } from "./Series.js"

killedInSeries("care", "PostgreSQL", [], 2)
