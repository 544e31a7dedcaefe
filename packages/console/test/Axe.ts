import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import type { Page } from "playwright-core"

/** The file of axe is run in the page by the tools of the browser, which no policy of the page holds back. */
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

/** The serious findings of axe on a page, in words. */
export const findingsOf = async (page: Page): Promise<ReadonlyArray<string>> => {
  await page.evaluate(axe)
  return page.evaluate(async () => {
    // Boundary: axe puts itself into the page.
    const { violations } = await (globalThis as unknown as { axe: { run: () => Promise<AxeResult> } }).axe.run()
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ help, id, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(" | ")}`)
  })
}

interface AxeResult {
  readonly violations: ReadonlyArray<{
    readonly id: string
    readonly help: string
    readonly impact: string
    readonly nodes: ReadonlyArray<{ readonly html: string }>
  }>
}
