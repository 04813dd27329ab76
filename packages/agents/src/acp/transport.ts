import { ReplyError } from '@reply/core'
import { linesOf } from '../process/lines.ts'
import { startProcess } from '../process/start-process.ts'
import type { AcpOptions } from './options.ts'

/** The messages to and from a running agent. */
export interface Transport {
  /** Messages of the agent, in order. Ends when it closes its output. */
  readonly messages: AsyncIterable<unknown>
  /** Writes a message. Rejects if the agent has ended. */
  send(message: unknown): Promise<void>
  /** Resolves when the agent has ended, for example with `exited with code 1`. */
  readonly ended: Promise<string>
  /** Ends the agent and all processes that it started. It may exit by itself first, when its input has ended. */
  close(): Promise<void>
}

type AgentCommand = Pick<
  AcpOptions,
  'command' | 'args' | 'cwd' | 'env' | 'onStderr' | 'onMessage' | 'maxMessageBytes' | 'onError'
> & { readonly name: string }

/** Starts the agent, and exchanges JSON with it, one message a line. Rejects with `unreachable` if it could not be started. */
export async function startTransport(options: AgentCommand): Promise<Transport> {
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
    close: child.closeGently,
  }

  /** Yields the agent's messages until its output ends. Skips other lines, and reports the first of several. */
  async function* messages(): AsyncIterable<unknown> {
    let wasInvalid = false
    for await (const line of linesOf(child.stdout, { maxBytes: maxMessageBytes, onError })) {
      if (line.trim() === '') continue
      const message = parsed(line)
      // Reports only the first of several invalid lines, because an agent may print a log of a gigabyte.
      if (!message && !wasInvalid) onError?.(invalidLine(name, line))
      wasInvalid = !message
      if (!message) continue
      onMessage?.('agent', line)
      yield message
    }
  }

  /** Passes the agent's standard error to `onStderr` until it ends. Never rejects. */
  async function readErrors(): Promise<void> {
    try {
      for await (const chunk of child.stderr.setEncoding('utf8')) onStderr?.(String(chunk))
    } catch {
      // The pipe broke because the agent ended, which is reported elsewhere.
    }
  }
}

/** Parses a line that is a JSON object. Undefined for other lines. */
function parsed(line: string): object | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Returns the error for a line that can't be read. Doesn't quote the line, which may contain secrets. */
function invalidLine(name: string, line: string): ReplyError {
  const problem = `${name} wrote a line of ${line.length} characters that is not a JSON-RPC message. It was skipped`
  return new ReplyError('malformed', `${problem}. Send logs to stderr: only messages belong on stdout.`)
}
