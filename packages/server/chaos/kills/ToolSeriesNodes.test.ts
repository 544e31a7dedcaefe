import { killedInSeries } from "./Series.js"

killedInSeries("tools", "PostgreSQL", ["a", "b"], 1)
