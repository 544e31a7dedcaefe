// Loaded before a server whose statements are counted: it writes them into the file that REINS_BENCH_STATEMENTS names.
import { overhearInto } from "./work.mjs"

const { REINS_BENCH_STATEMENTS: file } = process.env
if (file !== undefined) overhearInto(file)
