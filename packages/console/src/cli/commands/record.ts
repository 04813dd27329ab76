import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { record as recorder } from '@reply/core'
import { counted } from '@reply/core/show'
import { cleanLine } from '../../format/sanitize.ts'
import type { Output } from '../../terminal/surface.ts'
import { openServer } from '../connection.ts'
import { ConsoleError } from '../error.ts'
import { EXIT } from '../exit-code.ts'
import { listenForExit } from '../exit-signals.ts'
import { createOutput, noteWriter, type OutputOptions } from '../output.ts'
import { unwritable } from '../output-errors.ts'
import type { ProcessIO } from '../process-io.ts'
import { type ServerOptions, shownUrl } from '../server-url.ts'

/** The options of `reply record`. */
export interface RecordCommandOptions extends ServerOptions, OutputOptions {
  /** Overwrite an existing file. */
  readonly force?: boolean | undefined
}

/**
 * Records what a server sends to a file, secrets redacted, until Control-C, and then resolves with 0. `-` writes to standard
 * output. Rejects with `usage` for a file that exists or can't be opened and for `-` with `json` or `changes`, and with
 * `unwritable` if writing fails later.
 */
export async function record(file: string, options: RecordCommandOptions, io: ProcessIO): Promise<number> {
  const toStdout = file === '-'
  if (toStdout && (options.json === true || options.changes === true)) {
    throw new ConsoleError(
      'usage',
      'Standard output can carry either the recording or JSON lines. Record to a file to use --json or --changes.',
    )
  }
  const note = toStdout ? (text: string) => void io.stderr.write(`${cleanLine(text)}\n`) : noteWriter(io, options)
  const target = toStdout ? openStdout(io.stdout) : await openFile(file, options.force === true)
  let frames = 0
  let opened: Awaited<ReturnType<typeof openServer>> | undefined
  const exit = listenForExit(io, { interrupted: () => EXIT.done })
  const write = recorder({ write: (text) => void target.stream.write(text) })
  try {
    const client = await openServer(options, io, note, {
      missed: () => ', events sent in between are not in the recording',
      onFrame(data, at) {
        frames++
        write(data, at)
      },
    })
    opened = client
    note(`recording ${shownUrl(options, io.env)} to ${toStdout ? 'standard output' : file}. Press Control-C to stop`)
    const output = createOutput(io, options, { prompt: false })
    const replies = { count: 0 }
    client.watch(options.directory === undefined ? {} : { directory: options.directory }, {
      observe: (reply) => [
        ...(output.isJson ? output.observe(reply) : []),
        {
          replySettled(settled) {
            replies.count++
            output.printJson(settled.reply)
          },
        },
      ],
    })
    const code = await Promise.race([exit.code, target.failed])
    note(`${counted(frames, 'frame')}, ${replies.count === 1 ? '1 reply' : `${replies.count} replies`}`)
    return code
  } finally {
    exit.stop()
    await opened?.close()
    write.end()
    await target.close()
  }
}

interface Target {
  readonly stream: Output
  /** Rejects when writing fails. */
  readonly failed: Promise<never>
  /** Resolves when everything is written. Rejects if writing fails. */
  close(): Promise<void>
}

/** Returns standard output as a target that never fails: `main` handles its failures, as for every command. */
function openStdout(stream: Output): Target {
  return { stream, failed: new Promise(() => {}), close: async () => {} }
}

/**
 * Opens the file, so that an unwritable name is reported before anything is recorded. Throws `usage` if it can't, or if the
 * file exists and `force` is false.
 */
async function openFile(file: string, force: boolean): Promise<Target> {
  const stream = createWriteStream(file, { flags: force ? 'w' : 'wx' })
  try {
    await once(stream, 'open')
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
    if (code === 'EEXIST') {
      throw new ConsoleError('usage', `${file} already exists. Use another name or --force.`, { cause })
    }
    const reason = code === 'ENOENT' ? 'no such folder' : cause instanceof Error ? cause.message : String(cause)
    throw new ConsoleError('usage', `${file} can't be written: ${reason}.`, { cause })
  }
  const closed = new Promise<void>((resolve) => void stream.once('close', resolve))
  const failed = new Promise<never>((_, reject) => {
    stream.on('error', (cause) => reject(unwritable(file, cause)))
  })
  // `close` reports a failure that happens before this is awaited.
  failed.catch(() => {})
  return {
    stream,
    failed,
    async close() {
      stream.end()
      await closed
      if (stream.errored) await failed
    },
  }
}
