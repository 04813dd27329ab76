import type { Clock } from '@reply/core'
import type { InboundFile } from '@reply/sink'
import { callPlatform, downloadFile, PortError } from '@reply/sink/channel'
import { type DownloadLimits, tooLong } from '@reply/sink/internal'
import type { SlackApi } from '../api.ts'
import { toPortError } from '../failure.ts'
import { urlOf } from './file.ts'

export interface SlackDownload extends DownloadLimits {
  readonly api: SlackApi
  readonly token: string
  /** Besides Slack's own hosts, the token is only sent to the host of this address. */
  readonly apiUrl: string | undefined
  readonly clock: Clock
}

const cure = "Does the app have the scope files:read, and is it in the file's channel?"

/** Reads a file with the bot's token. https://docs.slack.dev/reference/objects/file-object */
export async function download(file: InboundFile, options: SlackDownload): Promise<Uint8Array> {
  const { api, token, apiUrl, clock, maxBytes, signal } = options
  const what = `file ${file.name}`
  if ((file.size ?? 0) > maxBytes) throw tooLong(what, maxBytes)
  const url = URL.canParse(file.ref) ? file.ref : await lookedUp()
  if (!isTrusted(url, apiUrl)) throw new PortError('refused', `${what}: it is not kept by Slack.`)
  const headers = { authorization: `Bearer ${token}` }
  return await downloadFile({ url, headers, maxBytes, signal, what, platform: 'Slack', cure, clock })

  async function lookedUp(): Promise<string> {
    const call = { what, clock, toPortError: toPortError.client }
    const url = urlOf(await callPlatform(() => api.apiCall('files.info', { file: file.ref }), call))
    if (url === undefined) throw new PortError('refused', `${what}: Slack gives no address for it.`)
    return url
  }
}

/** The token must not reach any other host. */
function isTrusted(url: string, apiUrl: string | undefined): boolean {
  const { protocol, hostname, origin } = new URL(url)
  if (apiUrl !== undefined && new URL(apiUrl).origin === origin) return true
  return protocol === 'https:' && /(?:^|\.)slack(?:-gov)?\.com$/.test(hostname)
}
