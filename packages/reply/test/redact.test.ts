import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { redacted } from '../src/recording/redact.ts'
import { createRedactor, redactText } from '../src/recording/redactor.ts'

/** Random but fixed: no secret in this file is real. */
const letters = 'Q7wErTy9UiOp2AsDfGh4JkLzXcV6bNm1'
const chars = (count: number, from = letters): string =>
  Array.from({ length: count }, (_, at) => from[(at * 7 + count) % from.length]).join('')
const lower = (count: number): string => chars(count, 'abcdefghijklmnopqrstuvwxyz0123456789')

const lines = (count: number): string => Array.from({ length: count }, () => `${chars(64)}\n`).join('')
const pem = (kind: string, count: number): string => `-----BEGIN ${kind}-----\n${lines(count)}-----END ${kind}-----`

/** A text, and the part of it that must be redacted. */
const secrets: readonly (readonly [kind: string, text: string, secret: string])[] = [
  ['OpenAI', `sk-proj-${chars(48)}`, chars(48)],
  ['GitHub', `ghp_${chars(36)}`, chars(36)],
  ['GitHub, fine-grained', `github_pat_${chars(22)}_${chars(59)}`, chars(59)],
  ['GitLab', `glpat-${chars(20)}`, chars(20)],
  ['GitLab, routable', `glpat-${chars(27)}.01.0a${lower(7)}`, chars(27)],
  ['GitLab runner', `glrt-t3_${chars(20)}`, chars(20)],
  ['Slack bot', `xoxb-2345678901234-3456789012345-${chars(24)}`, chars(24)],
  ['Slack bot in upper case', `XOXB-2345678901234-3456789012345-${chars(24)}`, chars(24)],
  ['Slack, rotating', `xoxe.xoxp-1-${chars(120)}`, chars(120)],
  ['Slack app', `xapp-1-A0123456789-1234567890123-${lower(64)}`, lower(64)],
  ['Slack webhook', `https://hooks.slack.com/services/T01234567/B01234567/${chars(24)}`, chars(24)],
  ['Discord bot', `MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.${chars(38)}`, chars(38)],
  ['Discord webhook', `https://discord.com/api/webhooks/1234567890123456789/${chars(68)}`, chars(68)],
  [
    'Discord webhook of a version',
    `https://discordapp.com/api/v10/webhooks/123456789012345678/${chars(68)}`,
    chars(68),
  ],
  ['Telegram', `123456789:AA${chars(33)}`, chars(33)],
  ['Telegram in a URL', `https://api.telegram.org/bot1234567890:AA${chars(33)}/getMe`, chars(33)],
  ['Telegram in an escaped URL', `https://api.telegram.org/bot1234567890%3AAA${chars(33)}/getMe`, chars(33)],
  ['Meta', `EAAG${chars(180)}`, chars(180)],
  ['npm', `npm_${chars(36)}`, chars(36)],
  ['Stripe', `sk_live_${chars(24)}`, chars(24)],
  ['Stripe, restricted', `rk_live_${chars(24)}`, chars(24)],
  ['Stripe, organization', `sk_org_live_${chars(24)}`, chars(24)],
  ['Stripe webhook', `whsec_${chars(32)}`, chars(32)],
  ['Hugging Face', `hf_${chars(34)}`, chars(34)],
  ['AWS', 'AKIAABCDEFGHIJ234567', 'ABCDEFGHIJ234567'],
  ['Google', `AIza${chars(35)}`, chars(35)],
  ['Bearer', `Bearer ${chars(30)}`, chars(30)],
  ['Basic', `Basic ${btoa('opencode:correct horse')}`, btoa('opencode:correct horse').slice(4, -2)],
  ['BASIC', `BASIC ${btoa('opencode:correct horse')}`, btoa('opencode:correct horse').slice(4, -2)],
  ['bearer', `bearer ${chars(30)}`, chars(30)],
  ['BEARER', `BEARER ${chars(30)}`, chars(30)],
  ['Basic in a header', `Authorization: Basic ${btoa('a:correct horse')}`, btoa('a:correct horse').slice(4, -2)],
  ['any scheme in a header', `authorization: Digest ${chars(30)}`, chars(30)],
  ['JSON Web Token', `eyJ${chars(33)}.eyJ${chars(90)}.${chars(43)}`, chars(90)],
  ['user of a URL', 'https://jane:hunter22@example.com/x', 'hunter22'],
  ['assignment', 'export OPENCODE_SERVER_PASSWORD="hunter22"', 'hunter22'],
  ['JSON in a text', String.raw`{\"client_secret\": \"hunter22\"}`, 'hunter22'],
  ['home', '/home/jane/work', 'jane'],
  ['private key', pem('PRIVATE KEY', 26), chars(64)],
  ['RSA key', pem('RSA PRIVATE KEY', 51), chars(64)],
  ['OpenSSH key', pem('OPENSSH PRIVATE KEY', 7), chars(64)],
  [
    'encrypted key',
    pem('RSA PRIVATE KEY', 9).replace('-\n', '-\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A\n\n'),
    chars(64),
  ],
  ['PGP key', pem('PGP PRIVATE KEY BLOCK', 30).replace('-\n', '-\nComment: made for the build server\n\n'), chars(64)],
  ['key of 200,000 units', pem('PRIVATE KEY', 3100), chars(64)],
  ['key in JSON', JSON.stringify(pem('PRIVATE KEY', 26)), chars(64)],
  ['key with gutters', pem('PRIVATE KEY', 26).replaceAll('\n', '\n00012| '), chars(64)],
  ['key whose end is cut off', pem('PRIVATE KEY', 26).slice(0, 900), chars(64)],
  ['key that is cut after its beginning', '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADAN', 'MIIEvQIBADAN'],
]

/** The output for a text in these pieces. */
const streamed = (pieces: readonly string[]): string => {
  const redactor = createRedactor()
  return pieces.map((piece) => redactor.push(piece)).join('') + redactor.end()
}

const cutAt = (text: string, places: readonly number[]): readonly string[] => {
  const sorted = [0, ...places.map((place) => place % (text.length + 1)).toSorted((a, b) => a - b), text.length]
  return sorted.slice(1).map((end, at) => text.slice(sorted[at], end))
}

const prose = fc.stringMatching(/^[a-z .,\n]{0,40}$/)
const splits = fc.array(fc.nat(100_000), { maxLength: 12 })

describe.each(secrets)('%s', (_, text, secret) => {
  test('is removed at any position', () => {
    expect(redactText(text)).not.toContain(secret)
    for (const around of ['"', '`', '(', '\n', String.raw`\n`, '=', ': ', '漢'])
      expect(redactText(`see ${around}${text}${around} there`)).not.toContain(secret)
  })

  test('is removed in any pieces, with the same result as for the whole', () => {
    const check = (before: string, after: string, places: readonly number[]): void => {
      const all = `${before} ${text}${after}`
      const out = streamed(cutAt(all, places))
      expect(out).not.toContain(secret)
      expect(out).toBe(redactText(all))
    }
    fc.assert(
      fc.property(
        prose,
        prose.map((more) => ` ${more}`),
        splits,
        check,
      ),
      { numRuns: text.length > 9999 ? 5 : 60 },
    )
  })
})

test('every way of cutting in two, and single letters, give the same result as the whole', () => {
  for (const [, text] of secrets.filter(([, one]) => one.length < 300)) {
    const all = `so: ${text} and so on`
    for (let at = 0; at <= all.length; at++) expect(streamed([all.slice(0, at), all.slice(at)])).toBe(redactText(all))
    expect(streamed(Array.from(all))).toBe(redactText(all))
  }
})

describe('a text without secrets stays unchanged', () => {
  const plain = [
    'Basic authentication and basic information; Bearer tokens; the task-list, an sk-learn model, hf_hub.',
    'npm_config_registry npm_lifecycle_event EAAE 12:30:45 1234567890: 10.0.0.1:8080 2026-01-02T03:04:05Z',
    'Monday MTA NOW MTk4 https://example.com/a?b=c#d //comment user@example.com git@github.com:a/b.git',
    'Look for -----BEGIN PRIVATE KEY----- in the file; it ends with -----END PRIVATE KEY-----.'.slice(0, 60),
    "if (text.includes('-----BEGIN RSA PRIVATE KEY-----')) {\n  throw new Error('a key must not be here')\n}",
    '-----BEGIN CERTIFICATE-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END CERTIFICATE-----',
    'max_tokens: 12, tokens used; xoxo; a---b -- c ----- d; /home/ /Users/ /rooted C: D:\\ eyJ sk- ghp_ glpat-',
    'The secret of good prose. A token of thanks. Passwords are hashed.',
  ]

  test.each(plain)('%j', (text) => {
    expect(redactText(text)).toBe(text)
    expect(streamed(Array.from(text))).toBe(text)
  })

  test('so does prose, and base64, in any pieces', () => {
    const base64 = fc.uint8Array({ maxLength: 3000 }).map((bytes) => Buffer.from(bytes).toString('base64'))
    const check = (text: string, places: readonly number[]): void => {
      expect(streamed(cutAt(text, places))).toBe(text)
    }
    fc.assert(fc.property(fc.oneof(prose, base64), splits, check), { numRuns: 300 })
  })
})

describe('held-back text', () => {
  test('is only what may become a secret', () => {
    const redactor = createRedactor()
    expect(redactor.push('Hello wor')).toBe('Hello wor')
    expect(redactor.push('ld, see gh')).toBe('ld, see ')
    expect(redactor.push('osts')).toBe('ghosts')
    expect(redactor.push(' and ghp_abc')).toBe(' and ')
    expect(redactor.push('.')).toBe('ghp_abc.')
    expect(redactor.push(` ghp_${chars(20)}`)).toBe(' [redacted]')
    expect(redactor.push(`${chars(2000)} done`)).toBe(' done')
    expect(redactor.end()).toBe('')
  })

  test('is never more than a few thousand units', () => {
    const endless = [
      'eyJ-',
      '//user:',
      '-----BEGIN PRIVATE KEY-----\n. ',
      'Basic aaaa',
      '1234567',
      'a',
      pem('PRIVATE KEY', 2),
    ]
    for (const piece of endless) {
      const redactor = createRedactor()
      let [given, taken] = [0, 0]
      for (let at = 0; at < 3000; at++) {
        given += redactor.push(piece).length
        taken += piece.length
      }
      const waits = redactor.end().length
      expect({ piece, waits: waits < 5000 }).toEqual({ piece, waits: true })
      expect(given + waits).toBeLessThanOrEqual(taken)
    }
  })
})

describe('JSON', () => {
  test('keeps its shape, and nothing under a key that says secret', () => {
    const data = JSON.stringify({ apiKey: 'x', 'set-cookie': ['a=b', 'c=d'], note: { token: 12 }, ok: ['plain'] })
    expect(JSON.parse(redacted(data))).toEqual({
      apiKey: '[redacted]',
      'set-cookie': ['[redacted]', '[redacted]'],
      note: { token: 12 },
      ok: ['plain'],
    })
  })
})
