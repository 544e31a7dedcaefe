export declare const limitSeconds: number
export declare const limitOf: (asked: string | undefined) => number
export declare const judged: (
  cost: number,
  yards: ReadonlyArray<number>,
  limit?: number
) => { readonly told: number | null; readonly isOver: boolean; readonly text: string }
