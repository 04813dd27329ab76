export { createLinks, type LinkInput, type Links, type LinksOptions } from './links/links.ts'
export { toNodeListener } from './serve/node.ts'
export { createPages, type Pages, type PagesOptions } from './serve/pages.ts'
export type {
  OpenRun,
  PageAsk,
  PageFeed,
  PageFile,
  PageGrant,
  PageJudge,
  PagePerson,
  PageRights,
  PageSource,
  UsedTokens,
} from './serve/source.ts'
export { applyDifference, type Change, differenceOf } from './state/difference.ts'
export type { PageAccess } from './state/page-access.ts'
export type { PageAnswer, PageReply, PageRun } from './state/page-run.ts'
export { toPageRun } from './state/to-page-run.ts'
