import { foreignJson } from "@reins/base/base/ForeignJson"
import { Effect } from "effect"
import type { Outbound, OutboundAnswer } from "../outbound/Outbound.js"
import type { ForgeKind } from "./Forge.js"
import { forgeHost } from "./ForgeHost.js"

/** The time that the root of an API has to answer, in milliseconds. */
const patienceMs = 4_000

/** The public answers by which the forges that are part of Reins tell what they are, below the root of the API. */
const signs: Readonly<Record<string, { readonly path: string; readonly is: (answer: OutboundAnswer) => boolean }>> = {
  github: { path: "/meta", is: ({ headers }) => headers["x-github-request-id"] !== undefined },
  gitlab: {
    path: "/version",
    is: ({ body, headers, status }) =>
      headers["x-gitlab-meta"] !== undefined || (status === 401 && textIn(body, "message") === "401 Unauthorized")
  },
  gitea: { path: "/version", is: ({ body, status }) => status === 200 && isRelease(textIn(body, "version")) }
}

const textIn = (body: string, name: string): string | undefined => {
  const value = foreignJson(body)
  const text = typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined
  return typeof text === "string" ? text : undefined
}

/** Other programs have a version too, and most of them no number of three parts. Forgejo's is `11.0.1+gitea-1.22.0`. */
const isRelease = (version: string | undefined): boolean => /^\d{1,3}\.\d{1,3}\.\d{1,3}(?:[+-]|$)/.test(version ?? "")

/** Asks the host for the API of each forge, without a credential. Undefined when it answers as none of them. */
export const guessForge = (
  outbound: Outbound["Type"],
  forges: ReadonlyArray<ForgeKind>,
  origin: string
): Effect.Effect<ForgeKind | undefined> =>
  Effect.map(
    Effect.forEach(forges, (forge) => answersAs(outbound, forge, origin), { concurrency: "unbounded" }),
    (answers) => forges.find((_, index) => answers[index])
  )

const answersAs = (outbound: Outbound["Type"], forge: ForgeKind, origin: string): Effect.Effect<boolean> => {
  const sign = signs[forge.kind]
  if (sign === undefined) return Effect.succeed(false)
  const request = { headers: { accept: "application/json", "user-agent": "reins" } }
  return outbound.fetch(`${forgeHost(forge, origin).api}${sign.path}`, request, { timeoutMs: patienceMs }).pipe(
    Effect.map(sign.is),
    Effect.catchAll(() => Effect.succeed(false))
  )
}
