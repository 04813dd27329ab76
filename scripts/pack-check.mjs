// Packs each published package and looks at the tarball as a user would get it: publint, and attw for the types.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'reply-pack-'))
let failures = 0

try {
  for (const name of readdirSync(join(root, 'packages'))) {
    const path = join(root, 'packages', name)
    const manifest = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'))
    if (manifest.private) continue
    const packed = spawnSync(
      'npm',
      ['pack', '--json', '--ignore-scripts', '--pack-destination', folder, '--loglevel=error'],
      { cwd: path, encoding: 'utf8' },
    )
    const listed = JSON.parse(packed.stdout)
    const [tarball] = Array.isArray(listed) ? listed : Object.values(listed)
    const lacking = missingIn(manifest, tarball, path)
    for (const what of lacking) process.stdout.write(`${manifest.name}: lacks ${what}\n`)
    const { messages } = await publint({
      pack: { tarball: new Uint8Array(readFileSync(join(folder, tarball.filename))).buffer },
      strict: true,
    })
    for (const message of messages) process.stdout.write(`${manifest.name}: ${formatMessage(message, manifest)}\n`)
    const attw = spawnSync(
      process.execPath,
      [
        join(root, 'node_modules/@arethetypeswrong/cli/dist/index.js'),
        join(folder, tarball.filename),
        '--profile',
        'esm-only',
        '--exclude-entrypoints',
        './package.json',
      ],
      { encoding: 'utf8' },
    )
    if (attw.status !== 0) process.stdout.write(`${attw.stdout}${attw.stderr}\n`)
    if (lacking.length > 0 || messages.length > 0 || attw.status !== 0) failures += 1
    process.stdout.write(
      `${manifest.name}: ${tarball.entryCount} files, ${Math.round(tarball.size / 1024)} kB packed\n`,
    )
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.exit(failures === 0 ? 0 : 1)

/** What a visitor of the package's page would miss. */
function missingIn(manifest, { files }, path) {
  const fields = ['description', 'keywords', 'repository', 'license'].filter(
    (field) => !manifest[field]?.length && !manifest[field]?.url,
  )
  const packed = new Set(files.map((file) => file.path))
  const isCopied = readFileSync(join(path, 'LICENSE'), 'utf8') === readFileSync(join(root, 'LICENSE'), 'utf8')
  return [
    ...fields,
    ...['README.md', 'LICENSE'].filter((name) => !packed.has(name)),
    ...(isCopied ? [] : ["the repository's LICENSE"]),
  ]
}
