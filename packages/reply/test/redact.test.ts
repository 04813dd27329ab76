import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { redactJson } from '../src/redact/redact-fields.ts'
import { createRedactor, redactText } from '../src/redact/redactor.ts'

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
  ['ntfy', `tk_${chars(29)}`, chars(29)],
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
  ['xAI', `xai-${chars(80)}`, chars(80)],
  ['Groq', `gsk_${chars(52)}`, chars(52)],
  ['SendGrid', `SG.${chars(22)}.${chars(43)}`, chars(43)],
  ['Google, access', `ya29.a0${chars(60)}-${chars(40)}`, chars(40)],
  ['Google, refresh', `1//0g${chars(60)}`, chars(60)],
  ["Google, a client's", `GOCSPX-${chars(28)}`, chars(28)],
  ['NVIDIA', `nvapi-${chars(64)}`, chars(64)],
  ['Perplexity', `pplx-${chars(48)}`, chars(48)],
  ['Replicate', `r8_${chars(37)}`, chars(37)],
  [
    'Azure storage',
    `DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=${chars(60)}+/${chars(24)}==;EndpointSuffix=core.windows.net`,
    chars(60),
  ],
  ['Azure bus', `Endpoint=sb://a.net/;SharedAccessKeyName=Root;SharedAccessKey=${chars(43)}=`, chars(43)],
  ['Azure shared access', `https://a.blob.core.windows.net/c?sv=2024-01-01&sp=r&sig=${chars(40)}%3D`, chars(40)],
  ['Azure function', `https://a.azurewebsites.net/api/f?code=${chars(54)}==`, chars(54)],
  ['Azure OpenAI', `api-key: ${lower(32)}`, lower(32)],
  ['Azure subscription', `Ocp-Apim-Subscription-Key: ${lower(32)}`, lower(32)],
  ['Microsoft Entra', `abc8Q~${chars(34)}`, chars(34)],
  ['AWS signature', `https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-Signature=${lower(64)}`, lower(64)],
  ['AWS secret', `aws_secret_access_key = ${chars(40)}`, chars(40)],
  ['curl -u', `curl -s -u jane:${chars(9)} https://example.com`, chars(9)],
  ['curl -u, quoted', `curl -u 'jane@example.com:two ${chars(9)}' https://example.com`, chars(9)],
  ['curl -u after other letters', `curl -sSfu jane:${chars(9)} https://example.com`, chars(9)],
  ['curl -u, joined', `curl -ujane:${chars(9)} https://example.com`, chars(9)],
  ['curl --user', `curl --user "jane:${chars(9)}" https://example.com`, chars(9)],
  ['curl --user=', `curl --user=jane:${chars(9)} https://example.com`, chars(9)],
  ['curl --proxy-user', `curl --proxy-user jane:${chars(9)} -x p https://example.com`, chars(9)],
  ['cookie', `Cookie: theme=dark; session=${chars(24)}`, chars(24)],
  ['Set-Cookie', `set-cookie: sid=${chars(24)}; Path=/; HttpOnly`, chars(24)],
  ['cookie of curl', `curl -H 'Cookie: session=${chars(24)}' https://example.com`, chars(24)],
  ['curl -b', `curl -b "session=${chars(24)}" https://example.com`, chars(24)],
  ['curl --cookie', `curl --cookie session=${chars(24)} https://example.com`, chars(24)],
  ['Digest', `Authorization: Digest username="jane", realm="a", response="${lower(32)}"`, lower(32)],
  [
    'signed by AWS',
    `Authorization: AWS4-HMAC-SHA256 Credential=x/20260102/eu/s3/aws4_request, SignedHeaders=host, Signature=${lower(64)}`,
    lower(64),
  ],
  ['OAuth 1', `Authorization: OAuth oauth_consumer_key="a", oauth_signature="${chars(28)}"`, chars(28)],
  ['API key scheme', `Authorization: ApiKey ${chars(30)}`, chars(30)],
  ['*_KEY', `OPENAI_KEY=${chars(12)}`, chars(12)],
  ['export *_KEY', `export MY_SERVICE_KEY="${chars(12)}"`, chars(12)],
  ['*_KEY in YAML', `      MY_KEY: ${chars(12)}`, chars(12)],
  ['*_KEY in JSON', `{"MY_KEY": "${chars(12)}"}`, chars(12)],
  ['*_KEY in JSON in a text', String.raw`{\"MY_KEY\":\"${'hunter22hunter22'}\"}`, 'hunter22hunter22'],
  ['*_KEY of docker', `docker run -e MY_KEY=${chars(12)} image`, chars(12)],
  ['*_TOKEN', `export GH_TOKEN=${chars(12)}`, chars(12)],
  ['*_SECRET', `CLIENT_SECRET: '${chars(12)}'`, chars(12)],
  ['*_PASSWORD', `POSTGRES_PASSWORD=${chars(5)}`, chars(5)],
  ['*_PASS', `SMTP_PASS=${chars(12)}`, chars(12)],
  ['*_PWD', `MYSQL_PWD=${chars(12)}`, chars(12)],
  ['*_PASSPHRASE', `KEY_PASSPHRASE=${chars(12)}`, chars(12)],
  ['*_CREDENTIALS', `APP_CREDENTIALS=${chars(12)}`, chars(12)],
  ['Slack response', `https://hooks.slack.com/actions/T01234567/1234567890123/${chars(24)}`, chars(24)],
  ['Slack webhook in JSON', String.raw`https:\/\/hooks.slack.com\/services\/T01\/B01\/` + chars(24), chars(24)],
  [
    'Discord webhook of a preview',
    `https://canary.discord.com/api/webhooks/123456789012345678/${chars(68)}`,
    chars(68),
  ],
  [
    'Discord webhook in JSON',
    String.raw`https:\/\/discord.com\/api\/webhooks\/123456789012345678\/` + chars(68),
    chars(68),
  ],
  ['Discord webhook, escaped', `discord.com%2Fapi%2Fwebhooks%2F123456789012345678%2F${chars(68)}`, chars(68)],
  ['Discord interaction', `/api/v10/interactions/123456789012345678/${chars(160)}/callback`, chars(160)],
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
    'docker run -u 1000:1000 --user 33:33 image; chown -R www:www . && sudo -u postgres psql -U admin -h db',
    "date -u +%H:%M:%S; sort -u a:b; git push -u origin main; curl -u jane https://example.com -u 'a:' -u $USER:$PASS",
    'httpx -u localhost:8080 -u http://localhost --user-agent curl:8 --username x:y --user "$USER:$PASS"',
    'Cookie: a small text. The cookie jar; cookie: true; --cookie jar.txt -b jar.txt; git checkout -b feature',
    'PRIMARY_KEY, FOREIGN_KEY; the KEY= of it; A_KEY=short ; COMPASS=north; BYPASS = enabled; PWD=/tmp/somewhere',
    'SG.abc SG.1 msg.value ya29.x gsk_ xai- XAI-SHEK 1//0 r8_ pplx- nvapi- 8Q~x ?key=short&sig=abc&code=42',
    'https://example.com/webhooks/42/edit /interactions/12 discord.com/api/webhooks/docs',
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
      'SG.a',
      'ya29',
      '-u ',
      '-u a:',
      'cookie: a',
      'Cookie: a=b; ',
      '--user=a',
      'MY_KEY=a',
      '&sig=a',
      'Authorization: Digest a="b", ',
      '/webhooks/1',
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
    expect(JSON.parse(redactJson(data))).toEqual({
      apiKey: '[redacted]',
      'set-cookie': ['[redacted]', '[redacted]'],
      note: { token: 12 },
      ok: ['plain'],
    })
  })
})

describe("the project's own sources and docs", () => {
  const root = fileURLToPath(new URL('../../..', import.meta.url))
  const folders = [
    'docs',
    'examples',
    ...readdirSync(join(root, 'packages')).map((name) => join('packages', name, 'src')),
  ]
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(?:ts|tsx|js|html|css|md)$/.test(file) && !file.includes('node_modules'))
      .map((file) => join(root, folder, file)),
  )

  /** A name that says that its value is a secret, or a home directory. */
  const named =
    /(?:key|token|secret|passw(?:or)?d|passphrase|authorization)\\?["'`]?\s*[:=]|\/home\/|\/Users\/|\/root\b/i
  /** The user of a URL, as in a pattern for one. */
  const user = /\/\/.*@/

  test('stay as they are, but for values with the name of a secret, and home directories', () => {
    expect(files.length).toBeGreaterThan(500)
    const oddities = files.flatMap((file) =>
      readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => redactText(line) !== line && !named.test(line) && !user.test(line))
        .map((line) => `${file.slice(root.length)}: ${line.trim()}`),
    )
    expect(oddities).toEqual([])
  })
})
