import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import type { PromptFile, Reply } from '@reply/core'
import { fileTypeOf } from '@reply/core/source'
import type { Input } from '../../terminal/keyboard.ts'
import { openServer } from '../connection.ts'
import { ConsoleError } from '../error.ts'
import { createOutput, noteWriter, type OutputOptions } from '../output.ts'
import type { ProcessIO } from '../process-io.ts'
import { runPrompt } from '../run-prompt.ts'
import type { ServerOptions } from '../server-url.ts'

/** The options of `reply prompt`. */
export interface PromptCommandOptions extends ServerOptions, OutputOptions {
  /** The session to prompt. Default: a new one. */
  readonly session?: string | undefined
  readonly agent?: string | undefined
  readonly model?: { readonly providerID: string; readonly modelID: string } | undefined
  /** Paths of files to attach. */
  readonly file?: readonly string[] | undefined
  /** Aborts after this long without progress, in ms. */
  readonly timeoutMs?: number | undefined
  /** How to handle asks if people can't type answers here. Default: `reject`. */
  readonly asks?: 'wait' | 'reject' | undefined
}

/**
 * Sends a prompt and shows the reply. `-` reads it from standard input. Resolves with the exit code of the outcome. Rejects
 * with `usage` for a blank prompt, and for `via` together with `url`.
 */
export async function prompt(text: string, options: PromptCommandOptions, io: ProcessIO): Promise<number> {
  if (options.via !== undefined && options.url !== undefined)
    throw new ConsoleError('usage', '--via starts an agent and --url names a server. Use one of them.')
  const content = text === '-' ? await readStdin(io.stdin) : text
  if (content.trim() === '') throw new ConsoleError('usage', 'The prompt is empty. Add some text.')
  const client = await openServer(options, io, noteWriter(io, options), {
    isShowing: () => output.isShowing(),
    missed: () => output.missedText(),
  })
  const output = createOutput(io, options, { prompt: false, client, hint: 'ctrl-c aborts' })
  try {
    const { session, agent, model, file, timeoutMs } = options
    const request = {
      text: content,
      ...(session === undefined ? {} : { sessionID: session }),
      ...(agent === undefined ? {} : { agent }),
      ...(model === undefined ? {} : { model }),
      ...(file === undefined ? {} : { files: await Promise.all(file.map(attachment)) }),
    }
    const asks = output.interactive ? undefined : (options.asks ?? 'reject')
    return await runPrompt({ client, output, request, timeoutMs, asks, onEnd: noteHowToContinue }, io)
  } finally {
    await client.close()
  }

  /**
   * Notes the command that continues a new session, with a person at the terminal. Does nothing if it can't be continued.
   */
  function noteHowToContinue({ sessionID, outcome }: Reply): void {
    // An agent's session ends with it.
    if (!output.interactive || options.via !== undefined || options.session !== undefined) return
    if (outcome === 'failed' || outcome === 'lost') return
    output.note(`To continue: reply prompt --session ${sessionID} "…"`)
  }
}

/** Resolves with all of standard input, as UTF-8. */
async function readStdin(stdin: Input): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stdin) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString('utf8')
}

/**
 * Returns a local file with its content, because the server may run on another machine. Its content tells its type. One of another
 * kind counts as bytes. Throws `usage` if it can't be read.
 */
async function attachment(path: string): Promise<PromptFile> {
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw new ConsoleError('usage', `The file ${path} can't be read. Check its name and permissions.`, {
      cause,
    })
  })
  const { mime } = fileTypeOf(bytes, 'application/octet-stream')
  return { url: `data:${mime};base64,${bytes.toString('base64')}`, mime, filename: basename(path) }
}
