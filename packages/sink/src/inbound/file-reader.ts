import { access } from 'node:fs/promises'
import { type Clock, type ReplyFile, systemClock } from '@reply/core'
import { readReplyFile } from '@reply/core/node'
import type { ReadFile } from '../deliver/file-loader.ts'
import { FileRefusal } from '../port/port-error.ts'
import { nameOfFile } from '../view/attachment.ts'
import { oneLine } from '../view/format.ts'
import { createWebDownload } from './download.ts'

/** Which files `createFileReader` reads. */
export interface FileReaderOptions {
  /**
   * Whether the agent works on this computer, so that the directories of its sessions are here. Then a file is read if it is inside
   * of its session's directory, after links were followed. Default true. False, or for a directory that is not here, as in a
   * container: the chat names such a file.
   */
  readonly isLocal?: boolean | undefined
  /**
   * Whether the file at an `http(s):` address may be downloaded. An agent chose the address, so allow only hosts that may get a
   * request from this computer. Redirects are refused. Default: nothing is downloaded.
   */
  readonly allowsDownload?: ((address: URL) => boolean) | undefined
  /** The source of all times and timers. Default: the computer's clock. */
  readonly clock?: Clock | undefined
}

/** Creates the `readFile` of a sink. It reads `data:` URLs, and files of this computer inside of their session's directory. */
export function createFileReader(options: FileReaderOptions = {}): ReadFile {
  const { isLocal = true, allowsDownload: allows, clock = systemClock } = options
  return async (file, { directory, maxBytes, signal }) => {
    const isPath = !/^(?:data|https?):/i.test(file.url)
    if (isPath && !(isLocal && (await isHere(directory)))) throw elsewhere(file)
    const download = allows && createWebDownload({ allows, clock, signal })
    return await readReplyFile(file, { directory, maxBytes, ...(download && { download }) })
  }
}

/** Whether a directory exists on this computer. Also true if it is unknown, or can't be told: reading the file reports that. */
async function isHere(directory: string | undefined): Promise<boolean> {
  if (directory === undefined) return true
  return await access(directory).then(
    () => true,
    (error: unknown) => !(error instanceof Error && 'code' in error && error.code === 'ENOENT'),
  )
}

/** The refusal for a file that is on the agent's computer: people need its path to find it there. */
function elsewhere(file: ReplyFile): FileRefusal {
  const where = oneLine(file.url.replace(/^file:\/\//i, ''), 300)
  const cure = 'Start reply-tools there with --embed, and the agent can send files from it.'
  return new FileRefusal(
    'refused',
    `The file ${nameOfFile(file)} is on the agent's computer, or in its container: ${where}. ${cure}`,
  )
}
