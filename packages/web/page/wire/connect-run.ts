import type { Answer, Ask, Clock, FileChange } from '@reply/core'
import { askDigest } from '@reply/core/internal'
import type { PageAccess } from '../../src/state/page-access.ts'
import type { PageRun } from '../../src/state/page-run.ts'
import { type ConnectionState, openConnection } from './connection.ts'
import { readDiff } from './decode.ts'

/** The run to connect to, and who hears of it. */
export interface RunConnectionOptions {
  readonly id: string
  readonly token: string
  readonly onRun: (run: PageRun) => void
  readonly onAccess: (access: PageAccess) => void
  /** The message is for people, and says why a link was refused. */
  readonly onState: (state: ConnectionState, message?: string) => void
  /** Where the API is. Default: `../api`, beside the folder of the page. */
  readonly api?: string | undefined
  /** Default: the browser's. */
  readonly fetch?: typeof fetch | undefined
  /** Default: the browser's clock. */
  readonly clock?: Clock | undefined
}

/** What a page does with its run. The calls reject with an `Error` whose message is for people. */
export interface RunConnection {
  answer(ask: Ask, answer: Answer): Promise<void>
  reject(ask: Ask, message?: string): Promise<void>
  stop(): Promise<void>
  /** Reads the bytes of a file of the run. */
  file(fileID: string): Promise<Uint8Array<ArrayBuffer>>
  /** Reads what the whole session changed. */
  diff(): Promise<readonly FileChange[]>
  close(): void
}

/** Connects to a run. The connection comes back by itself until it is closed, refused, or the run has ended. */
export function connectRun(options: RunConnectionOptions): RunConnection {
  const { id, token, onRun, onAccess, onState, api = '../api' } = options
  const connection = openConnection<PageRun>({
    url: `${api}/runs/${encodeURIComponent(id)}`,
    token,
    onState: onRun,
    onAccess,
    onConnection: onState,
    fetch: options.fetch,
    clock: options.clock,
  })
  return {
    // The digest says what the person saw, so that an ask that has changed is not answered.
    answer: async (ask, answer) =>
      await connection.post('answer', { askID: ask.requestID, digest: askDigest(ask), answer }),
    reject: async (ask, message) =>
      await connection.post('reject', { askID: ask.requestID, digest: askDigest(ask), message }),
    stop: async () => await connection.post('stop', {}),
    file: async (fileID) =>
      new Uint8Array(await (await connection.read(`files/${encodeURIComponent(fileID)}`)).arrayBuffer()),
    diff: async () => readDiff(await (await connection.read('diff')).text()),
    close: connection.close,
  }
}
