import { oneByOne, onTopOf } from "@reins/base/base/Layered"
import { Effect } from "effect"
import { expireJob, fireJob, startJob } from "./AutomationJobs.js"
import { AutomationRuns } from "./AutomationRuns.js"
import { AutomationStore } from "./AutomationStore.js"
import { Automations } from "./Automations.js"
import { eventRuns } from "./EventRuns.js"
import { FilterPreviews } from "./FilterPreviews.js"
import * as HookRuns from "./HookRuns.js"
import * as operations from "./Operations.js"
import { payloadRecords } from "./Payloads.js"
import * as RunDeliveries from "./RunDeliveries.js"
import { deliverJob } from "./RunDeliveries.js"
import { RunStore } from "./RunStore.js"
import * as RunTurns from "./RunTurns.js"

/** Work that begins by itself. */
export const automations = {
  name: "automations",
  layer: oneByOne(
    Automations.layer,
    AutomationRuns.layer,
    RunTurns.layer,
    RunDeliveries.layer,
    HookRuns.layer,
    FilterPreviews.layer
  ).pipe(onTopOf(oneByOne(AutomationStore.layer, RunStore.layer))),
  operations,
  tables: ["automations", "automation_runs"],
  followers: [eventRuns],
  sealed: payloadRecords,
  jobs: [fireJob, startJob, expireJob, deliverJob],
  sweeps: {
    "automation runs": Effect.map(Effect.all([RunStore, AutomationStore]), ([runs, automations]) =>
      Effect.zipRight(runs.purge, automations.purge)
    )
  }
} as const
