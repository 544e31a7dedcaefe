import { Effect, Schema } from "effect"
import type { HarnessDriver } from "../HarnessDriver.js"
import { AcpSettings } from "./AcpSettings.js"

/** The driver for agents that speak the Agent Client Protocol. What speaks it is loaded for the first agent. */
export const acpDriver: HarnessDriver = {
  driver: "acp",
  startsEarly: true,
  bind: (settings) =>
    Effect.map(
      Schema.decodeUnknown(AcpSettings, { onExcessProperty: "error" })(settings),
      (decoded) => (input) =>
        Effect.flatMap(
          Effect.promise(() => import("./AcpOpening.js")),
          ({ makeOpenAgent: opening }) => opening(decoded)(input)
        )
    )
}
