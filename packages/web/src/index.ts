export { createDesk, type Desk, type DeskOptions } from './desk/desk.ts'
export { type ServeDeskOptions, serveDesk } from './desk/serve-desk.ts'
export { createLinks, type LinkInput, type Links, type LinksOptions } from './links/links.ts'
export { createPageFeed, lateMs, type OpenPageFeed } from './serve/feed.ts'
export { type InspectFileOptions, inspectFile } from './serve/inspect-file.ts'
export {
  createInspectPages,
  type InspectPages,
  type InspectPagesOptions,
  type InspectSource,
  serveInspector,
} from './serve/inspect-pages.ts'
export type { LocalPages } from './serve/local.ts'
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
export type { PageList, PageListItem } from './state/page-list.ts'
export type { PageAnswer, PageReply, PageRun } from './state/page-run.ts'
export { toPageRun } from './state/to-page-run.ts'
