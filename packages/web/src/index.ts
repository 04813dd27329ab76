export type { PageAnswer, PageReply, PageRun } from './state/page-run.ts'
