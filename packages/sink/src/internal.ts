export { layout } from './layout/layout.ts'
export type { LayoutOptions, Slot } from './layout/slot.ts'
export type {
  Access,
  Content,
  DoubtfulEntry,
  Entry,
  EntryFields,
  FailedEntry,
  GoneEntry,
  IntentEntry,
  ShownEntry,
} from './ledger/entry.ts'
export { emptyLedger, type Ledger } from './ledger/ledger.ts'
export { closeMarkdown } from './markdown/close-markdown.ts'
export { type Slice, type SplitOptions, split } from './markdown/split.ts'
export type { Mode } from './view/view.ts'
