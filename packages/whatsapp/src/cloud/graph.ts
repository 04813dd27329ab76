import type { Clock } from '@reply/core'
import type { InboundFile } from '@reply/sink'
import { callPlatform, downloadFile, PortError } from '@reply/sink/channel'
import { type DownloadLimits, jsonOf, tooLong } from '@reply/sink/internal'
import { CloudError } from './api.ts'
import { toMediaPlace, toNumber, toRefusal } from './decode.ts'
import { toCloudPortError } from './failure.ts'

/** What reading from the Graph API needs. */
export interface GraphOptions {
  readonly token: string
  /** With the version, without a slash at the end. */
  readonly apiUrl: string
  readonly clock: Clock
}

/** The number that people write to. Rejects with a `PortError`. */
export async function numberOf(phoneNumberId: string, options: GraphOptions): Promise<string> {
  return toNumber(await read(`${phoneNumberId}?fields=display_phone_number`, 'the number', options)) ?? phoneNumberId
}

/**
 * Reads a file: its address first, which works for five minutes.
 * https://developers.facebook.com/documentation/business-messaging/whatsapp/business-phone-numbers/media
 */
export async function downloadMedia(
  { ref, name }: InboundFile,
  { maxBytes, signal, ...options }: GraphOptions & DownloadLimits,
): Promise<Uint8Array> {
  const what = `file ${name}`
  const place = toMediaPlace(await read(encodeURIComponent(ref), what, options))
  if (!place) throw new PortError('refused', `${what}: the Cloud API gives no address for it.`)
  if ((place.file_size ?? 0) > maxBytes) throw tooLong(what, maxBytes)
  const { token, apiUrl, clock } = options
  const { protocol, hostname, origin } = new URL(place.url)
  const isMetas = protocol === 'https:' && /(?:^|\.)(?:fbsbx|facebook|whatsapp)\.(?:com|net)$/.test(hostname)
  // The token must not reach any other host.
  if (!isMetas && origin !== new URL(apiUrl).origin) throw new PortError('refused', `${what}: it is not kept by Meta.`)
  const headers = { authorization: `Bearer ${token}` }
  return await downloadFile({ url: place.url, headers, maxBytes, signal, what, platform: 'WhatsApp', clock })
}

async function read(path: string, what: string, { token, apiUrl, clock }: GraphOptions): Promise<unknown> {
  return await callPlatform(
    async (signal) => {
      const headers = { authorization: `Bearer ${token}` }
      // A redirect may lead to another host, which must not get the token.
      const response = await fetch(`${apiUrl}/${path}`, { headers, redirect: 'manual', signal })
      const answer = jsonOf(new Uint8Array(await response.arrayBuffer()))
      if (response.ok) return answer
      const { status } = response
      const { message = `HTTP ${status}`, code } = toRefusal(answer) ?? {}
      throw new CloudError(message, { status, code })
    },
    { what, clock, toPortError: toCloudPortError },
  )
}
