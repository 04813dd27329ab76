import { type Clock, systemClock } from '@reply/core'
import { callPlatform, type NoticeConnection, type NoticeKind, PortError, secretFault } from '@reply/sink/channel'
import { NtfyError, NtfyRefusal, toPortError } from './error.ts'
import { answerIn } from './inbound.ts'

/** Sends notices to one topic. */
export interface NtfyClient extends NoticeConnection {
  /** Checks the address and the token with one call. Resolves with a name for the topic that does not contain it. */
  check(): Promise<string>
}

/** The public server. */
export const defaultServer = 'https://ntfy.sh'

/** What a topic is: https://docs.ntfy.sh/publish/#picking-a-topic */
export const topicPattern = /^[-_A-Za-z0-9]{1,64}$/

/** The most bytes of a notice. The server makes an attachment of 4,096: https://docs.ntfy.sh/publish/#limitations */
const mostBytes = 3000
/** The most UTF-16 units of a title. The server has no limit of its own, but phones show one line. */
const mostTitle = 200

/**
 * How urgently a phone tells of it, from 1 to 5: https://docs.ntfy.sh/publish/#message-priority. And the sign before the title:
 * https://docs.ntfy.sh/emojis/
 */
const looks: Readonly<Record<NoticeKind, { readonly priority: number; readonly tag: string }>> = {
  final: { priority: 3, tag: 'white_check_mark' },
  failure: { priority: 4, tag: 'warning' },
  ask: { priority: 4, tag: 'raised_hand' },
}

/**
 * Creates the client of a topic, which makes one call for each notice and repeats none. Throws `NtfyError` of type `invalid` for a
 * topic or token that can't be used.
 */
export function createNtfyClient({
  server,
  topic,
  token,
  clock = systemClock,
}: {
  readonly server: string
  readonly topic: string
  readonly token?: string | undefined
  readonly clock?: Clock | undefined
}): NtfyClient {
  const topicFault = secretFault(topic, {
    form: { pattern: topicPattern, description: '1 to 64 letters, digits, "-" and "_"' },
  })
  if (topicFault !== undefined) throw new NtfyError('invalid', `The topic can't be used. ${topicFault}`)
  const tokenForm = { pattern: /^[\x21-\x7e]+$/, description: 'one word of printable ASCII' }
  const tokenFault = token === undefined ? undefined : secretFault(token, { form: tokenForm })
  if (tokenFault !== undefined) throw new NtfyError('invalid', `The token can't be used. ${tokenFault}`)
  const base = server.replace(/\/+$/, '')
  const { host } = new URL(base)
  const headers = {
    'content-type': 'application/json',
    // https://docs.ntfy.sh/publish/#access-tokens
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  }
  return { send, check }

  /**
   * Publishes the notice as JSON, because texts in headers would have to be encoded: https://docs.ntfy.sh/publish/#publish-as-json.
   * The server has no keys for repeats. A phone shows the newest notice of a sequence in place of the one before:
   * https://docs.ntfy.sh/publish/#updating-deleting-notifications. Servers before 2.16 ignore the field.
   */
  async function send(
    { id, kind, title, text, link }: Parameters<NtfyClient['send']>[0],
    signal?: AbortSignal,
  ): Promise<void> {
    const { priority, tag } = looks[kind]
    const body = JSON.stringify({
      topic,
      title: clipped(title.replace(/\s+/g, ' '), mostTitle),
      message: cutToBytes(text, mostBytes),
      priority,
      tags: [tag],
      // A phone opens any kind of address.
      ...(link !== undefined && isWebLink(link) && { click: link }),
      sequence_id: id,
    })
    const what = `notice to a topic on ${host}`
    await callPlatform(
      async (abort) => {
        const answer = await call('/', { method: 'POST', body, signal: abort })
        if (answer.type !== 'message') throw new PortError('ambiguous', `${what}: the response has no id.`)
      },
      { what, signal, clock, toPortError },
    )
  }

  /** Reads the server's health. It refuses a wrong token there, too. Does not tell whether the token may write to the topic. */
  async function check(): Promise<string> {
    const what = `check of ${host}`
    await callPlatform(
      async (signal) => {
        const answer = await call('/v1/health', { method: 'GET', signal })
        if (answer.type !== 'health') throw new PortError('refused', `${what}: it is not an ntfy server.`)
      },
      { what, clock, toPortError },
    )
    return `a topic on ${host}`
  }

  /** Makes a request, and resolves with the answer. Rejects with `NtfyRefusal` for another status than 200. */
  async function call(
    path: string,
    request: Pick<RequestInit, 'method' | 'body' | 'signal'>,
  ): Promise<ReturnType<typeof answerIn>> {
    // Another host must get neither the token nor the notice.
    const response = await fetch(`${base}${path}`, { ...request, headers, redirect: 'manual' })
    const answer = answerIn(await response.text())
    if (response.status === 200) return answer
    const { code, reason } = answer.type === 'error' ? answer : { code: undefined, reason: 'no reason given' }
    const retryAfterS = Number(response.headers.get('retry-after')) || undefined
    throw new NtfyRefusal(`${response.status} ${reason}`, response.status, code, retryAfterS)
  }
}

/** Whether a link leads to a web page. */
function isWebLink(link: string): boolean {
  return URL.canParse(link) && new URL(link).protocol === 'https:'
}

/** Cuts a text to UTF-16 units, without half of a pair at its end. */
function clipped(text: string, most: number): string {
  return text.slice(0, most).replace(/[\ud800-\udbff]$/, '')
}

/** Cuts a text to bytes of UTF-8, at the border of a character. */
function cutToBytes(text: string, most: number): string {
  let kept = clipped(text, most)
  while (new TextEncoder().encode(kept).length > most) kept = clipped(kept, Math.floor(kept.length * 0.9))
  return kept
}
