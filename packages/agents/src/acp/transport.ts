import { ReplyError } from '@reply/core'
import { linesOf } from '../process/lines.ts'
import { startProcess } from '../process/start-process.ts'
import type { AcpOptions } from './options.ts'

/** A running agent, message by message. */
export interface Transport {
  /** What the agent sends, in order. Ends when it closes its output. */
  readonly messages: AsyncIterable<unknown>
  send(message: unknown): Promise<void>
  /** Resolves when the agent has ended, with how: `exited with code 1`. */
  readonly ended: Promise<string>
  /** Ends the agent and all that it started. */
  close(): Promise<void>
}

type TransportOptions = Pick<
  AcpOptions,
  'command' | 'args' | 'cwd' | 'env' | 'onStderr' | 'onMessage' | 'maxMessageBytes' | 'onError'
> & { readonly name: string }

/** Starts the agent. Rejects with `unreachable` if it could not be started. */
export async function startTransport(options: TransportOptions): Promise<Transport> {
  const { command, args, cwd, env, name, onMessage, onStderr, onError, maxMessageBytes } = options
  const child = await startProcess({ command, args, cwd, env })
  void readErrors()
  return {
    messages: messages(),
    send: async (message) => {
      const json = JSON.stringify(message)
      onMessage?.('client', json)
      await child.write(`${json}\n`)
    },
    ended: child.ended.then(({ code, signal }) => (signal ? `was ended by ${signal}` : `exited with code ${code}`)),
    close: child.close,
  }

  async function* messages(): AsyncIterable<unknown> {
    let isInGarbage = false
    for await (const line of linesOf(child.stdout, { maxBytes: maxMessageBytes, onError })) {
      if (line.trim() === '') continue
      const message = parsed(line)
      // Reports where garbage begins, not each of its lines: an agent may print a log of a gigabyte.
      if (!message && !isInGarbage) onError?.(garbage(name, line))
      isInGarbage = !message
      if (!message) continue
      onMessage?.('agent', line)
      yield message
    }
  }

  async function readErrors(): Promise<void> {
    try {
      for await (const chunk of child.stderr.setEncoding('utf8')) onStderr?.(String(chunk))
    } catch {
      // The pipe broke with the agent, whose end is told elsewhere.
    }
  }
}

function parsed(line: string): object | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Names no content: a line may hold secrets. */
function garbage(name: string, line: string): ReplyError {
  const words = `${name} wrote a line of ${line.length} characters that was left out: it is not a JSON-RPC message`
  return new ReplyError('malformed', `${words}. Only messages belong on its standard output: send logs to stderr.`)
}
