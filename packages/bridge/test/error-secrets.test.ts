import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { inspect } from 'node:util'
import { type Reply, systemClock } from '@reply/core'
import type { BridgeChannel } from '@reply/sink/channel'
import pino from 'pino'
import { describe, expect, test } from 'vitest'
import { bridgeChannel as discordChannel } from '../../discord/src/bridge.ts'
import { discordRestOptions, discordChannel as discordSinks } from '../../discord/src/index.ts'
import { memoryStore } from '../../sink/src/index.ts'
import { bridgeChannel as slackChannel } from '../../slack/src/bridge.ts'
import { bridgeChannel as telegramChannel } from '../../telegram/src/bridge.ts'
import { bridgeChannel as whatsappChannel } from '../../whatsapp/src/bridge.ts'
import { secretsOf } from '../src/config/load.ts'
import { bridgeLog } from '../src/events/log.ts'
import { statusOf } from '../src/state/execution.ts'

/** Random but fixed: none is real. Their forms are those of the platforms. */
const tokens = {
  telegram: '8812345678:AAHq7wErTy9UiOp2AsDfGh4JkLzXcV6bNm1',
  slack: 'xoxb-2345678901234-3456789012345-Q7wErTy9UiOp2AsDfGh4JkLz',
  discord: 'MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.Q7wErTy9UiOp2AsDfGh4JkLzXcV6bNm1Q7wErT',
  whatsapp: `EAAG${'Q7wErTy9UiOp2AsDfGh4JkLzXcV6bNm1'.repeat(5)}`,
} as const
/** One that no pattern finds. */
const plain = 'correct-horse-battery-staple'
/** A token of an interaction, with which one can answer it for 15 minutes. */
const interaction = `aW50ZXJhY3Rpb246${'Q7wErTy9UiOp2AsDfGh4JkLzXcV6bNm1'.repeat(4)}`

type Name = keyof typeof tokens
const names = Object.keys(tokens) as Name[]
const channels: Readonly<Record<Name, BridgeChannel>> = {
  telegram: telegramChannel as BridgeChannel,
  slack: slackChannel as BridgeChannel,
  discord: discordChannel as BridgeChannel,
  whatsapp: whatsappChannel as BridgeChannel,
}

/** The platform's own form of a refusal in those words. */
function refusal(name: Name, words: string): object {
  switch (name) {
    case 'telegram':
      return { ok: false, error_code: 400, description: `Bad Request: ${words}`, parameters: { note: words } }
    case 'slack':
      return { ok: false, error: 'invalid_arguments', needed: words, response_metadata: { messages: [words] } }
    case 'discord':
      return { code: 50035, message: words, errors: { content: { _errors: [{ code: 'X', message: words }] } } }
    case 'whatsapp':
      return { error: { message: words, type: 'OAuthException', code: 100, error_data: { details: words } } }
  }
}

/** What a server, or something before it, can answer. Each quotes the token in its way. */
type Answer = (request: IncomingMessage, response: ServerResponse, given: { name: Name; token: string }) => void

const json = (response: ServerResponse, status: number, body: object): void =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
const html = (response: ServerResponse, status: number, words: string): void =>
  void response.writeHead(status, { 'content-type': 'text/html' }).end(`<html><h1>Sorry</h1>${words}</html>`)

const answers: Readonly<Record<string, Answer>> = {
  'a refusal that quotes it': (_, response, { name, token }) => json(response, 400, refusal(name, `no such ${token}!`)),
  'a refusal that quotes a part of it': (_, response, { name, token }) =>
    json(response, 400, refusal(name, `no such ${token.slice(-24, -3)}…`)),
  'a refusal that quotes it escaped': (_, response, { name, token }) =>
    json(response, 400, refusal(name, `at /x?t=${encodeURIComponent(token)}`)),
  'a refusal that quotes the request': ({ url, headers }, response, { name }) =>
    json(response, 400, refusal(name, `bad: ${url} ${JSON.stringify(headers)}`)),
  'a server error that quotes it': (_, response, { name, token }) => json(response, 500, refusal(name, `x ${token}`)),
  'a wrong login that quotes it': (_, response, { name, token }) =>
    json(response, 401, {
      ...refusal(name, `unknown ${token}`),
      ...(name === 'telegram' && { error_code: 403 }),
    }),
  'a rate limit that quotes it': (_, response, { name, token }) => {
    response.setHeader('retry-after', '1')
    json(response, 429, { ...refusal(name, `slow down, ${token}`), retry_after: 0.1, global: false })
  },
  "a proxy's page that quotes it": ({ url, headers }, response, { token }) =>
    html(response, 502, `${url} ${headers.authorization} ${token}`),
  'a page in place of an answer': (_, response, { token }) => html(response, 200, token),
  'broken JSON that begins with it': (_, response, { token }) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(token),
  'broken JSON of a refusal': (_, response, { token }) =>
    void response.writeHead(400, { 'content-type': 'application/json' }).end(`{"message": "${token}", ${token}`),
  'a redirect with it': (_, response, { token }) =>
    void response.writeHead(302, { location: `http://127.0.0.1:1/?token=${encodeURIComponent(token)}` }).end(),
  'a header with it': (_, response, { name, token }) => {
    response.setHeader('x-debug', encodeURIComponent(token))
    response.statusMessage = `Bad ${token}`
    json(response, 403, refusal(name, 'no'))
  },
  'a connection that breaks off': (_, response, { token }) => {
    response.writeHead(200, { 'content-type': 'application/json' }).write(`{"a":"${token}`)
    setImmediate(() => response.destroy())
  },
  'no connection': (request) => void request.socket.destroy(),
}

/** A server that answers everything in that way. */
async function answering(answer: Answer, given: { name: Name; token: string }) {
  let requests = 0
  const server = createServer((request, response) => {
    requests += 1
    request.resume()
    answer(request, response, given)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const at = server.address()
  const url = `http://127.0.0.1:${typeof at === 'object' && at ? at.port : 0}`
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { url, requests: () => requests, close }
}

const entryOf = (name: Name, url: string): object => {
  const token = { env: 'TOKEN' }
  switch (name) {
    case 'telegram':
      return { type: 'telegram', token, apiRoot: url }
    case 'slack':
      return { type: 'slack', token, events: 'http', signingSecret: { env: 'OTHER' }, apiUrl: url }
    case 'discord':
      return { type: 'discord', token, updates: 'http', publicKey: 'ab'.repeat(32), apiUrl: url }
    case 'whatsapp':
      return {
        ...{ type: 'whatsapp', api: 'cloud', phoneNumberId: '1', apiUrl: url, token },
        ...{ appSecret: { env: 'OTHER' }, verifyToken: { env: 'OTHER' } },
      }
  }
}

/** Fails everything that a bridge does with a channel, and gives all the errors. */
async function errorsOf(name: Name, token: string, answer: Answer): Promise<readonly unknown[]> {
  const { url, requests, close } = await answering(answer, { name, token })
  const errors: unknown[] = []
  const channel = channels[name]
  const config = channel.schema.parse(entryOf(name, url))
  const secret = secretsOf('/', { TOKEN: token, OTHER: 'another-secret-of-it' })
  const connection = await channel.create(config, {
    ...{ name, secret, clock: systemClock, store: memoryStore(), onInbound: () => {} },
    onError: (error) => errors.push(error),
  })
  const chat = { id: name === 'slack' ? 'C1' : '100000000000000001', kind: 'private' } as const
  // Rate limits and repeats wait until then.
  const note = { chat, text: 'Hello', until: Date.now() + 300 }
  const ref = { id: name === 'slack' ? '1.000001' : '1' }
  const file = { ref: name === 'discord' ? `${url}/f` : 'F1', name: 'a.txt', mime: 'text/plain', size: 3 }
  for (const call of [
    async () => await channel.check(config, { secret }),
    async () => await connection.download(file, { maxBytes: 100 }),
    async () => await connection.setCommands?.([{ name: 'stop', description: 'Stop.' }]),
    async () => await connection.edit(ref, note),
    async () => await connection.post(note),
    async () => await connection.typing(chat),
  ]) {
    await call().catch((error: unknown) => errors.push(error))
  }
  expect(requests()).toBeGreaterThan(2)
  await close()
  return errors
}

/** Everywhere an error may be printed. */
function printed(errors: readonly unknown[]): string {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  const log = bridgeLog({ destination })
  const own = pino({}, destination)
  for (const error of errors) {
    lines.push(String(error), inspect(error, { depth: null, showHidden: true, getters: true }))
    for (let at: unknown = error; at instanceof Error; at = at.cause)
      lines.push(at.message, at.stack ?? '', JSON.stringify(at))
    if (!(error instanceof Error)) continue
    log.onError?.(error)
    own.error(error)
    own.error({ err: error, error }, 'failed')
    lines.push(JSON.stringify({ ...error, cause: error.cause }))
  }
  return lines.join('\n')
}

/** Every run of twelve characters counts, and an escaped one. */
function leaks(text: string, secret: string): readonly string[] {
  const forms = [secret, encodeURIComponent(secret)]
  const parts = forms.flatMap((form) => Array.from({ length: form.length - 11 }, (_, at) => form.slice(at, at + 12)))
  return [...new Set(parts.filter((part) => text.includes(part)))].slice(0, 3)
}

describe.each(names)('%s', (name) => {
  test.concurrent.each(Object.entries(answers))('%s: no error shows the token', async (_, answer) => {
    const errors = await errorsOf(name, tokens[name], answer)
    expect(errors.length).toBeGreaterThan(1)
    expect(leaks(printed(errors), tokens[name])).toEqual([])
  })

  test.concurrent.each(Object.entries(answers))('%s: no error shows a token of no known form', async (_, answer) => {
    const errors = await errorsOf(name, plain, answer)
    expect(errors.length).toBeGreaterThan(1)
    expect(leaks(printed(errors), plain)).toEqual([])
  })
})

/** The client takes these for success. */
const taken = ['a page in place of an answer', 'a redirect with it']

test.concurrent.each(Object.entries(answers))(
  "Discord's interactions: %s: no error shows their token",
  async (kind, answer) => {
    const { url, requests, close } = await answering(answer, { name: 'discord', token: interaction })
    const errors: unknown[] = []
    const { REST } = await import('@discordjs/rest')
    const rest = new REST({ ...discordRestOptions, api: url }).setToken(tokens.discord)
    const channel = discordSinks({
      ...{ rest, updates: 'own', onError: (error) => errors.push(error) },
      onInbound: async (inbound) => {
        if (inbound.type === 'press') await inbound.answer('No.')
      },
    })
    await channel.handleEvent({
      t: 'INTERACTION_CREATE',
      d: {
        ...{ id: '1500000000000000001', application_id: '2', type: 3, token: interaction, channel_id: '3' },
        ...{ channel: { id: '3', type: 1 }, user: { id: '4', username: 'ann' }, data: { custom_id: 'x:1' } },
        message: { id: '1500000000000000000', channel_id: '3' },
      },
    })
    await channel.stop()
    await close()
    expect(requests()).toBeGreaterThan(0)
    expect(errors).toHaveLength(taken.includes(kind) ? 0 : 1)
    expect(leaks(printed(errors), interaction)).toEqual([])
  },
)

test("the reason of a run that failed, which is logged, stored and traced, has no token of the model's provider", () => {
  const key = `sk-proj-${'zZ8yY7xX6wW5vV4uU3tT2sS1'.repeat(2)}`
  const error = { name: 'APIError', message: `Incorrect API key provided: ${key}.`, raw: undefined }
  const failed = { outcome: 'failed', error } as Reply
  expect(statusOf(failed)).toEqual({ status: 'error', reason: 'Incorrect API key provided: [redacted].' })
})
