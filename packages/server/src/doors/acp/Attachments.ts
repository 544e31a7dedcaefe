import { type Reins, ReinsApiError } from "@reins/client"

/** A file of a prompt that is not of the repository. */
export interface Attachment {
  readonly name: string
  readonly content: string
  readonly encoding: "base64" | "utf-8"
}

/** A file in the content of a message. */
export interface AttachedBlock {
  readonly type: "file"
  readonly upload_id: string
}

/** A picture, a sound or a file that the editor sends along. The number tells those of one prompt apart. */
export const sentAlong = (mimeType: string, data: string, number: number, name?: string): Attachment => {
  const end = /^\w+\/([a-z0-9]+)/i.exec(mimeType)?.[1] ?? "bin"
  return { name: name ?? `${mimeType.split("/", 1)[0] || "file"}-${number}.${end}`, content: data, encoding: "base64" }
}

/** Puts a file beside the workspace of a session, where the agent can read it. Runs the setup of the project first, which an upload does not wait for. */
export const attach = async (reins: Reins, session_id: string, attachment: Attachment): Promise<AttachedBlock> => {
  const upload = async (): Promise<AttachedBlock> => {
    const { upload_id } = await reins.sessions.uploadFile({ session_id, ...attachment })
    return { type: "file", upload_id }
  }
  try {
    return await upload()
  } catch (error) {
    const isSetupMissing = error instanceof ReinsApiError && "workspace" in error.details
    if (!isSetupMissing) throw error
    const { operation } = await reins.sessions.activateExecutor({ session_id })
    await reins.jobs.wait(operation)
    return upload()
  }
}
