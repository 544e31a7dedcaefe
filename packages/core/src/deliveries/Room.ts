import { deliveryJob } from "./LoadedJobs.js"
import * as operations from "./Operations.js"
import { layer } from "./Services.js"
import { signingKeyRecords } from "./signing/SigningKeyStore.js"

/** Changesets on their way to the branch of a remote, or as a patch. */
export const deliveries = {
  name: "deliveries",
  layer,
  operations,
  tables: ["deliveries", "signing_keys"],
  sealed: signingKeyRecords,
  jobs: [deliveryJob]
} as const
