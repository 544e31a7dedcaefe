import { HttpApiGroup } from "@effect/platform"
import { idPath, read } from "@reins/base/domain/Endpoint"
import { Job, Operation } from "./Job.js"

export class JobsApi extends HttpApiGroup.make("jobs")
  .add(read("get", "/api/jobs/:job_id", "Read a job with its attempts").setPath(idPath("job_id")).addSuccess(Job))
  .add(
    read("getOperation", "/api/operations/:operation_id", "The jobs and attempts of an operation")
      .setPath(idPath("operation_id"))
      .addSuccess(Operation)
  ) {}
