import type { Notice } from '@reply/sink/channel'
import { PortError } from '@reply/sink/channel'
import { expect } from 'vitest'
import { createNtfyClient, type NtfyClient } from '../src/client.ts'

/** A server with a token that may write to a topic, and what phones show of that. */
export interface NtfyServer {
  readonly url: string
  readonly token: string
  readonly topic: string
  /** The notices of the topic, oldest first. */
  shown(): Promise<readonly ShownNotice[]>
}

export interface ShownNotice {
  readonly title: string
  readonly message: string
  readonly priority: number
  readonly tags: readonly string[]
  readonly click: string | undefined
}

export const notice: Notice = { id: 'a1', kind: 'final', title: 'Done', text: '1m 30s · abc123' }

export function clientOn({ url, topic, token }: NtfyServer, change: object = {}): NtfyClient {
  return createNtfyClient({ server: url, topic, token, ...change })
}

/** Returns the type of the error of a call, and its message. */
export async function failureOf(call: Promise<unknown>): Promise<readonly [string, string]> {
  const error = await call.then(
    () => undefined,
    (cause: unknown) => cause,
  )
  return error instanceof PortError ? [error.type, error.message] : ['none', String(error)]
}

/** What a server does with notices: the same for the fake and for a real one. */
export const rules: Readonly<Record<string, (server: NtfyServer) => Promise<void>>> = {
  'a notice is shown with its title, text, urgency and link': async (server) => {
    const link = 'https://t.me/c/700/5'
    await clientOn(server).send({ ...notice, kind: 'ask', link, text: 'One\ntwo · 😀' })
    expect((await server.shown()).at(-1)).toEqual({
      ...{ title: 'Done', message: 'One\ntwo · 😀', priority: 4, tags: ['raised_hand'], click: link },
    })
  },
  'line breaks, commas and quotes of a title make no further fields': async (server) => {
    const title = 'Done"\r\nX-Actions: http, Allow, https://evil.example\r\nX-Tags: skull,x'
    await clientOn(server).send({ ...notice, title })
    expect((await server.shown()).at(-1)).toEqual({
      ...{ title: title.replace(/\s+/g, ' '), message: notice.text, priority: 3, tags: ['white_check_mark'] },
      click: undefined,
    })
  },
  'a long text is cut instead of becoming an attachment': async (server) => {
    await clientOn(server).send({ ...notice, text: '😀ü'.repeat(5000) })
    const { message = '' } = (await server.shown()).at(-1) ?? {}
    expect(Buffer.byteLength(message)).toBeGreaterThan(2000)
    expect(message).toMatch(/^(?:😀ü)+😀?$/u)
  },
  'a wrong token is refused, also by the check': async (server) => {
    const client = clientOn(server, { token: 'tk_wrongwrongwrongwrongwrongwrong' })
    expect(await failureOf(client.send(notice))).toEqual([
      'refused',
      expect.stringMatching(/^notice to a topic on 127\.0\.0\.1:\d+: 401 unauthorized$/),
    ])
    expect(await failureOf(client.check())).toEqual(['refused', expect.stringMatching(/401 unauthorized$/)])
  },
  'no token is refused': async (server) => {
    expect((await failureOf(clientOn(server, { token: undefined }).send(notice)))[1]).toMatch(/403 forbidden$/)
  },
  'a name that the server uses itself is refused as a topic': async (server) => {
    expect((await failureOf(clientOn(server, { topic: 'account' }).send(notice)))[1]).toMatch(/400 invalid request/)
  },
  'the check of a good server names it without the topic': async (server) => {
    expect(await clientOn(server).check()).toMatch(/^a topic on 127\.0\.0\.1:\d+$/)
  },
}
