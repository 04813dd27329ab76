import type { Clock } from '@reply/core'
import { callPlatform } from '../port/call.ts'
import { createToPortError, typeOfStatus } from '../port/network.ts'
import { PortError } from '../port/port-error.ts'
import type { DownloadLimits } from './bridge-channel.ts'

export interface FileRequest extends DownloadLimits {
  /** May contain a secret, so no error contains it. */
  readonly url: string
  /** With headers, redirects are refused, because they might send a token to another host. */
  readonly headers?: Readonly<Record<string, string>> | undefined
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
  { url, headers, what, platform, cure = '', maxBytes }: FileRequest,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const response = await fetch(url, { ...(headers && { headers, redirect: 'manual' }), signal })
  if (!response.ok || !response.body) {
    await response.body?.cancel()
    const type = response.status < 400 ? 'refused' : response.status === 404 ? 'gone' : typeOfStatus(response.status)
    throw new PortError(type, `${what}: ${platform} answered ${response.status}. ${cure}`.trimEnd())
  }
  const chunks: Uint8Array[] = []
  let length = Number(response.headers.get('content-length') ?? 0)
  if (length > maxBytes) {
    await response.body.cancel()
    throw tooLargeError(what, maxBytes)
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

/** The error for a file that is larger than allowed. */
export function tooLargeError(what: string, maxBytes: number): PortError {
  return new PortError('too-long', `${what} is too large: it has more than ${maxBytes} bytes.`)
}
