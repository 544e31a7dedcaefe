/** The folders of its repository that the workspace of a session holds. */
export const sparseCheckouts: ReadonlyArray<string> = ["alter table sessions add column sparse text"]
