import { it } from "@effect/vitest"
import { Manifests } from "@reins/machine/harness/Manifests"
import { goesOnAfterLoss } from "../test/execution/Sealing.js"

it.scopedLive(
  "a session of the real agent of alpha goes on from its snapshot when its disk is lost, and knows what was said",
  () => goesOnAfterLoss(Manifests.layer),
  300_000
)
