// Reports figures with their goals while they are measured: as lines for a person, and as JSON.
import { cpus, loadavg, totalmem } from "node:os"

const shown = (value, unit) => {
  if (unit === "count") return String(value)
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2
  return `${value.toFixed(digits)}${unit === "" ? "" : ` ${unit}`}`
}

const goalOf = ({ atLeast, atMost, unit }) =>
  atLeast !== undefined
    ? `at least ${shown(atLeast, unit)}`
    : atMost !== undefined
      ? `at most ${shown(atMost, unit)}`
      : undefined

const isMet = ({ atLeast, atMost, value }) =>
  atLeast === undefined && atMost === undefined
    ? undefined
    : value >= (atLeast ?? -Infinity) && value <= (atMost ?? Infinity)

/** `say` gets each line for a person. */
export const makeReport = (say) => {
  const figures = []
  const figure = (name, value, unit, goal = {}) => {
    const made = { name, value, unit, ...goal }
    const met = isMet(made)
    const text = shown(value, unit)
    figures.push({ name, value, text, goal: goalOf(made) ?? null, met: met ?? null })
    const verdict = met === undefined ? "" : `${met ? "met" : "NOT MET"}: ${goalOf(made)}`
    say(`  ${name.padEnd(62)} ${text.padStart(12)}   ${verdict}`)
    return met
  }
  let isExceeded = false
  return {
    subject: (title) => say(`\n${title}`),
    /** Adds a fact that helps to understand the figures. */
    note: (text) => say(`    ${text}`),
    /** Adds a figure. `atLeast` or `atMost` is its goal. A figure without a goal serves for comparison. */
    figure,
    /** Adds what was counted, so that the machine has no part in it. The run fails when it is more than what is allowed. */
    count: (name, value, allowed) => {
      if (figure(name, value, "count", { atMost: allowed }) === false) isExceeded = true
    },
    /** True once a count was more than what is allowed. */
    isExceeded: () => isExceeded,
    json: () => ({ machine: machine(), figures })
  }
}

/** The machine of the figures. The load is that of the last minute, because other work on the machine makes the figures worse. */
export const machine = () => ({
  node: process.version,
  cpus: `${cpus().length} x ${cpus()[0]?.model}`,
  memoryGb: Math.round(totalmem() / 1e9),
  load: loadavg()[0],
  at: new Date().toISOString()
})
