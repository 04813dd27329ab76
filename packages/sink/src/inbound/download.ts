import type { Clock } from '@reply/core'
import { byteSize } from '@reply/core/show'
import { callPlatform } from '../port/call.ts'
import { createToPortError, typeOfStatus } from '../port/network.ts'
import { PortError } from '../port/port-error.ts'
import type { DownloadLimits } from './bridge-channel.ts'

export interface FileRequest extends DownloadLimits {
  /** May contain a secret, so no error contains it. */
  readonly url: string
  /** With headers, redirects are refused, because they might send a token to another host. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Refuses redirects also without headers. Default: false. */
  readonly refusesRedirects?: boolean | undefined
  /** Names the file in errors, for example "file notes.txt". */
  readonly what: string
  /** The platform's name, for errors. */
  readonly platform: string
  /** A sentence for the error that says how to fix a refusal. Default: none. */
  readonly cure?: string | undefined
  /** Times the deadline. */
  readonly clock: Clock
}

/** The deadline of a download, in ms. */
const downloadMs = 120_000

/** Downloads a file over HTTP. Rejects with a `PortError`, of type `too-long` as soon as it exceeds `maxBytes`. */
export async function downloadFile(request: FileRequest): Promise<Uint8Array> {
  const { what, platform, clock, signal } = request
  const options = {
    what,
    timeoutMs: downloadMs,
    signal,
    clock,
    toPortError: createToPortError(platform, () => undefined),
  }
  return await callPlatform(async (aborted) => await fetchBounded(request, aborted), options)
}

/**
 * Fetches the file. Throws `too-long` before it reads a body whose `content-length` is too large, and as soon as a body
 * exceeds `maxBytes`. Throws `gone` for a 404, `refused` for a redirect, and for another status the type of the status.
 */
async function fetchBounded(
  { url, headers, refusesRedirects = false, what, platform, cure = '', maxBytes }: FileRequest,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const response = await fetch(url, {
    ...(headers && { headers }),
    ...((headers || refusesRedirects) && { redirect: 'manual' }),
    signal,
  })
  if (!response.ok || !response.body) {
    await response.body?.cancel()
    const type = response.status < 400 ? 'refused' : response.status === 404 ? 'gone' : typeOfStatus(response.status)
    throw new PortError(type, `${what}: ${platform} answered ${response.status}. ${cure}`.trimEnd())
  }
  const chunks: Uint8Array[] = []
  let length = Number(response.headers.get('content-length') ?? 0)
  if (length > maxBytes) {
    await response.body.cancel()
    throw tooLargeError(what, maxBytes, length)
  }
  length = 0
  for await (const chunk of response.body) {
    length += chunk.length
    // Leaving the loop cancels the download.
    if (length > maxBytes) throw tooLargeError(what, maxBytes)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** What an agent may make a program download. */
export interface WebPolicy {
  /** Whether the file at this address may be downloaded. Called with addresses that an agent chose. */
  readonly allows: (address: URL) => boolean
  /** Times the deadline. */
  readonly clock: Clock
  /** Aborts the downloads. */
  readonly signal: AbortSignal
}

/**
 * Creates the `download` of `readReplyFile`. An address that the policy doesn't allow, one with a user or a password, and a
 * redirect are refused, so that an agent can't reach any other server. Rejects with a `PortError`.
 */
export function createWebDownload({ allows, clock, signal }: WebPolicy) {
  return async (url: string, maxBytes: number): Promise<Uint8Array> => {
    const address = URL.canParse(url) ? new URL(url) : undefined
    if (!address || !/^https?:$/.test(address.protocol)) throw new PortError('refused', 'The address is malformed.')
    const { host: platform, href, username, password } = address
    if (username !== '' || password !== '' || !allows(address))
      throw new PortError('refused', `Files of ${platform} are not downloaded: the settings don't allow it.`)
    return await downloadFile({
      url: href,
      refusesRedirects: true,
      what: 'the file',
      platform,
      maxBytes,
      clock,
      signal,
    })
  }
}

/** The error for a file that is larger than allowed. `length` is its size in bytes, if the platform tells it. */
export function tooLargeError(what: string, maxBytes: number, length?: number): PortError {
  const limit = byteSize(maxBytes)
  const sizes =
    length === undefined ? `it has more than ${limit}` : `it has ${byteSize(length)}, and the limit is ${limit}`
  return new PortError('too-long', `${what} is too large: ${sizes}.`)
}
