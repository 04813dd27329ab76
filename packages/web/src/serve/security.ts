import { isIP } from 'node:net'
import { Refusal, refuseForeign } from '@reply/core/internal'

/**
 * Nothing runs but the page's own scripts, nothing is loaded from elsewhere, and no page may frame this one. Images are the
 * page's own or made of bytes that it has. Texts can't become HTML or the addresses of scripts (Trusted Types).
 */
const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

const unusedFeatures = ['camera', 'display-capture', 'geolocation', 'microphone', 'payment', 'serial', 'usb']

/** Headers of every response. */
export const securityHeaders = {
  'content-security-policy': contentPolicy,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': unusedFeatures.map((name) => `${name}=()`).join(', '),
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const

/**
 * Returns a check that throws a `Refusal` unless a request names this server: by the host of `publicUrl`, or as this computer.
 * A page of another site could otherwise reach it under a name of its own that resolves to this computer.
 */
export function createHostCheck(publicUrl: URL): (request: Request) => void {
  const ours = hostOf(publicUrl.host)
  return (request) => {
    const host = hostOf(request.headers.get('host') ?? new URL(request.url).host)
    if (host === ours || host === 'localhost' || isLoopback(host)) return
    throw new Refusal(
      421,
      'This server has another name. Open the address of your link, and let your proxy pass Host on.',
    )
  }
}

/** Throws a `Refusal` if a page of another site sent the request. */
export function refuseOtherSites(request: Request, publicUrl: URL): void {
  try {
    refuseForeign(request, [publicUrl.origin])
  } catch (error) {
    if (error instanceof Refusal) throw new Refusal(error.status, 'A page of another site sent this request.')
    throw error
  }
}

/** The name without its port, in lower case, without a final dot. Empty if it is not a host. */
function hostOf(host: string): string {
  const [, name = ''] = /^(\[[\da-f:.]+\]|[^:/?#@[\]\s]+)(?::\d+)?$/i.exec(host) ?? []
  return name.toLowerCase().replace(/\.$/, '')
}

function isLoopback(host: string): boolean {
  return host === '[::1]' || (isIP(host) === 4 && host.startsWith('127.'))
}
