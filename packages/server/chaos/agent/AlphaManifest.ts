import { vouched } from "@reins/machine/harness/Evidence"
import alpha from "../../../../manifests/alpha.json" with { type: "json" }

/** The program that is started in the place of alpha's agent; alpha's own where there is none. */
const agent = process.env["REINS_SCRIPTED_AGENT"]

/** Stands in the place of alpha's manifest in the build of this suite. */
export default agent === undefined
  ? alpha
  : vouched({
      ...alpha,
      runtime: {
        ...alpha.runtime,
        launch: {
          ...alpha.runtime.launch,
          command: "{{node}}",
          args: [agent],
          environment: {},
          profiles: [{ id: "scripted", when: { connection: true }, environment: {}, files: [] }]
        },
        settings: {
          ...alpha.runtime.settings,
          resume: "load",
          stderr: { error: null, fatal: null },
          model_selector: "none"
        },
        state: { paths: ["sessions.json"], ignore: [] }
      }
    })
