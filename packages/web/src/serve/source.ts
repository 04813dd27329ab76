import type { Answer, FileChange } from '@reply/core'
import type { Feed } from '@reply/core/internal'
import type { PageReply, PageRun } from '../state/page-run.ts'

/** A question or permission as pages show it. */
export type PageAsk = PageReply['asks'][number]

/** The person who uses a page. */
export interface PagePerson {
  /** Identifies the person, as you like. Empty for a link that anyone may use. */
  readonly id: string
  /** The name that people see. */
  readonly name: string
}

/** What a token lets its bearer do. */
export interface PageGrant {
  /** Who uses it. Answers with it count as theirs. */
  readonly person: PagePerson
  /** What it allows besides seeing the run. */
  readonly rights: PageRights
  /** When it ends, in ms since the epoch. Absent if it doesn't end. */
  readonly until?: number | undefined
  /** Identifies the token, if it may allow one permission alone. Absent if it may allow any number. */
  readonly onceID?: string | undefined
}

/** What a person may do on a page besides seeing it. */
export interface PageRights {
  /** Answer questions, allow and reject. */
  readonly answer: boolean
  /** Stop the run. */
  readonly stop: boolean
}

/** The newest state of something that a page shows. */
export interface PageFeed<State> extends Feed<State> {
  /** Whether no other state will follow. The streams of readers end then. */
  readonly hasEnded: boolean
}

/** A file of a run. */
export interface PageFile {
  /** Its content. */
  readonly bytes: Uint8Array<ArrayBuffer>
  /** Its MIME type as the agent reports it. It is not believed, except for raster images. */
  readonly mime: string
  /** Its name or path, as the agent reports it. Pages use its last part. */
  readonly name?: string | undefined
}

/**
 * A run that pages show, until `release` is called. What can't be done with it is left out, for example by a process that
 * only follows it. Errors that people should read are a `Refusal`.
 */
export interface OpenRun {
  /** The newest state of the run. */
  readonly feed: PageFeed<PageRun>
  /** Called once. */
  release(): void
  /** Passes an answer on. The ask is the one that the person saw, and is pending. It may change until the agent gets the answer. */
  answer?(person: PagePerson, ask: PageAsk, answer: Answer): Promise<void>
  /** Rejects a question or a permission, with a message for the agent. */
  reject?(person: PagePerson, ask: PageAsk, message: string | undefined): Promise<void>
  /** Ends the run. */
  stop?(person: PagePerson): Promise<void>
  /** Reads all changes of the run's session. */
  diff?(): Promise<readonly FileChange[]>
  /** Reads a file of the run. Undefined if it has none with this id. */
  file?(fileID: string): Promise<PageFile | undefined>
}

/** Where pages get their runs from. */
export interface PageSource {
  /** Finds a run. Undefined if there is none with this id. The grant was checked, and may see the run. */
  find(runID: string, grant: PageGrant, signal: AbortSignal): Promise<OpenRun | undefined>
  /** The list of runs, as JSON, for a page with all of them. Absent if there is no such page. */
  readonly list?: PageFeed<object> | undefined
}

/**
 * Says what a token may do with a run, or with the list of runs if `runID` is undefined. `ended` for one that was valid until
 * some time ago, and undefined for every other one.
 */
export type PageJudge = (
  token: string,
  runID: string | undefined,
) => PageGrant | 'ended' | undefined | Promise<PageGrant | 'ended' | undefined>

/** Keeps which tokens have allowed something. Processes that serve the same pages share it. */
export interface UsedTokens {
  /** The ask that the token has allowed. Undefined if it has allowed none. */
  askOf(tokenID: string): Promise<string | undefined>
  /** Uses the token up for this ask. False if another ask has used it up before. */
  take(tokenID: string, askID: string): Promise<boolean>
}
