export { applyDifference, type Change, differenceOf } from './state/difference.ts'
export type { PageAnswer, PageReply, PageRun } from './state/page-run.ts'
export { toPageRun } from './state/to-page-run.ts'
