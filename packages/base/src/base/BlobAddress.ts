import { isAbsolute } from "node:path"

/** The place of blobs, as the setting names it. */
export type BlobAddress =
  | { readonly kind: "directory"; readonly path: string }
  | { readonly kind: "postgres" }
  | {
      readonly kind: "s3"
      readonly bucket: string
      /** Stands before the name of each object, without a slash at its end; empty for none. */
      readonly prefix: string
      /** The address of a service that is not Amazon's, which has the bucket in its path. */
      readonly endpoint: string | null
      /** Null where the environment names it. */
      readonly region: string | null
    }

const bucketName = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
const parameters = new Set(["endpoint", "region"])

const s3Of = (url: URL): BlobAddress | undefined => {
  const endpoint = url.searchParams.get("endpoint")
  const isKnown = [...url.searchParams.keys()].every((name) => parameters.has(name))
  // A key in the address would be in the process list. The environment holds it.
  const hasSecret = url.username !== "" || url.password !== ""
  if (!isKnown || hasSecret || !bucketName.test(url.hostname)) return undefined
  if (endpoint !== null && !(URL.canParse(endpoint) && /^https?:$/.test(new URL(endpoint).protocol))) return undefined
  return {
    kind: "s3",
    bucket: url.hostname,
    prefix: decodeURIComponent(url.pathname).replace(/^\/+|(?<!\/)\/+$/g, ""),
    endpoint: endpoint === null ? null : endpoint.replace(/(?<!\/)\/+$/, ""),
    region: url.searchParams.get("region")
  }
}

/**
 * The place that a setting names: `directory:/path`, `postgres`, or `s3://bucket/prefix?endpoint=https://…&region=…`. Undefined for any other text.
 */
export const blobAddress = (text: string): BlobAddress | undefined => {
  if (text === "postgres") return { kind: "postgres" }
  if (text.startsWith("directory:")) {
    const path = text.slice("directory:".length)
    return isAbsolute(path) ? { kind: "directory", path } : undefined
  }
  return text.startsWith("s3://") && URL.canParse(text) ? s3Of(new URL(text)) : undefined
}

/** The setting that names a place. */
export const blobAddressText = (address: BlobAddress): string => {
  if (address.kind === "directory") return `directory:${address.path}`
  if (address.kind === "postgres") return "postgres"
  const { bucket, endpoint, prefix, region } = address
  const query = [
    ...(endpoint === null ? [] : [`endpoint=${endpoint}`]),
    ...(region === null ? [] : [`region=${region}`])
  ]
  return `s3://${bucket}${prefix === "" ? "" : `/${prefix}`}${query.length === 0 ? "" : `?${query.join("&")}`}`
}
