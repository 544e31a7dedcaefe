import { type BlobAddress, blobAddress } from "@reins/base/base/BlobAddress"

/** The store of blobs that a setting names, or the sentence that says why it cannot be used, which never quotes the setting. */
export const blobSetting = (
  text: string,
  hasPostgres: boolean,
  { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret }: NodeJS.ProcessEnv
): BlobAddress | string => {
  const address = blobAddress(text)
  if (address === undefined)
    return 'The setting "blobs" has to be directory:/an/absolute/path, postgres, or s3://bucket/prefix?endpoint=https://host (--blobs, REINS_BLOBS or reins.json).'
  if (address.kind === "postgres" && !hasPostgres)
    return 'The setting "blobs" can be postgres only on a PostgreSQL database: give --database-url too (REINS_DATABASE_URL).'
  if (address.kind === "s3" && !(id && secret))
    return 'The setting "blobs" names a bucket, and the environment lacks AWS_ACCESS_KEY_ID or AWS_SECRET_ACCESS_KEY: set both.'
  return address
}
