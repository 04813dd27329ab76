import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { EventSchemas } from '@ag-ui/core/schemas'
import type { AgUiInput } from '../../src/index.ts'

/** One run of the fake agent. */
export interface FakeRun {
  readonly input: AgUiInput
  /** The text of the last message. */
  readonly text: string
  readonly headers: IncomingMessage['headers']
  readonly response: ServerResponse
  /** Sends events, as an agent of version 1.0 does. */
  send(...events: readonly Readonly<Record<string, unknown>>[]): void
  /** Sends bytes as they are. */
  write(bytes: string | Uint8Array): void
  /** Sends an end. */
  finish(outcome?: unknown, more?: Readonly<Record<string, unknown>>): void
  /** Resolves when the client has gone. */
  readonly gone: Promise<void>
}

/** Starts an AG-UI agent on this computer that does what `act` says. It ends each stream that `act` leaves open but those with `stays`. */
export async function startFakeAgent(
  act: (run: FakeRun) => Promise<'stays' | undefined> | 'stays' | undefined,
  port = 0,
) {
  const inputs: AgUiInput[] = []
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end()
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const input: AgUiInput = JSON.parse(body)
    inputs.push(input)
    const last: unknown = input.messages.at(-1)
    const content = typeof last === 'object' && last !== null && 'content' in last ? last.content : ''
    const write = (bytes: string | Uint8Array): void => {
      if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(bytes)
    }
    const send: FakeRun['send'] = (...events) => {
      for (const event of events) write(`data: ${JSON.stringify(event)}\n\n`)
    }
    const { threadId, runId } = input
    const gone = new Promise<void>((resolve) => response.on('close', resolve))
    const finish: FakeRun['finish'] = (outcome, more = {}) =>
      send({ type: 'RUN_FINISHED', threadId, runId, ...(outcome !== undefined && { outcome }), ...more })
    const text = typeof content === 'string' ? content : JSON.stringify(content)
    const how = await act({ input, text, headers: request.headers, response, send, write, finish, gone })
    if (how !== 'stays') response.end()
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const address = server.address()
  const bound = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${bound}/agent`,
    inputs,
    close: async () => {
      server.closeAllConnections()
      await new Promise<void>((resolve) => void server.close(() => resolve()))
    },
  }
}

/** The events of a text message. */
export function say(messageId: string, text: string, more: Readonly<Record<string, unknown>> = {}) {
  return [
    { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant', ...more },
    { type: 'TEXT_MESSAGE_CONTENT', messageId, delta: text, ...more },
    { type: 'TEXT_MESSAGE_END', messageId, ...more },
  ]
}

/** The events of a call, up to its arguments. */
export function call(
  toolCallId: string,
  toolCallName: string,
  input: unknown,
  more: Readonly<Record<string, unknown>> = {},
) {
  return [
    { type: 'TOOL_CALL_START', toolCallId, toolCallName, ...more },
    { type: 'TOOL_CALL_ARGS', toolCallId, delta: JSON.stringify(input), ...more },
    { type: 'TOOL_CALL_END', toolCallId, ...more },
  ]
}

/** The event of a call's result. */
export function result(toolCallId: string, content: unknown, more: Readonly<Record<string, unknown>> = {}) {
  return { type: 'TOOL_CALL_RESULT', messageId: `result-${toolCallId}`, toolCallId, content, role: 'tool', ...more }
}

/** Whether an event is one of AG-UI 1.0. */
export function isValid(event: unknown): boolean {
  return EventSchemas.safeParse(event).success
}
