// Packs each published package and looks at the tarball as a user would get it: publint, attw for the types, and each of
// its exports and commands, unpacked and run.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'reply-pack-'))
/**
 * A program that imports the entries in its arguments, and fails if two of a package export different things under one name,
 * such as two error classes.
 */
const entriesProgram = `
const known = new Map()
for (const entry of process.argv.slice(1)) {
  const [, name] = entry.split('/')
  for (const [key, value] of Object.entries(await import(entry))) {
    const id = name + ' ' + key
    if (known.has(id) && known.get(id) !== value) throw new Error('Two copies of ' + id)
    known.set(id, value)
  }
}`

const modules = join(folder, 'node_modules')
const entries = []
let failures = 0

try {
  mkdirSync(join(modules, '@reply'), { recursive: true })
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== '@reply' && !name.startsWith('.')) symlinkSync(join(root, 'node_modules', name), join(modules, name))
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
    unpack(manifest, join(folder, tarball.filename), path)
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
  failures += runNode('--input-type=module', '--eval', entriesProgram, ...entries)
  for (const args of [['--version'], ['bridge', '--help']])
    failures += runNode(join(modules, '@reply/console/bin/reply.mjs'), ...args)
  failures += runNode(join(modules, '@reply/tools/bin/reply-tools.mjs'), '--help')
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.exit(failures === 0 ? 0 : 1)

/**
 * Unpacks a tarball where an installation would, so that the package can be run as users run it. Links its own dependencies,
 * and adds the names of its importable exports to `entries`.
 */
function unpack({ name, exports }, tarball, path) {
  const to = join(modules, name)
  mkdirSync(to)
  spawnSync('tar', ['-xzf', tarball, '--strip-components=1', '-C', to], { stdio: 'inherit' })
  if (existsSync(join(path, 'node_modules'))) symlinkSync(join(path, 'node_modules'), join(to, 'node_modules'))
  for (const [key, { default: file }] of Object.entries(exports)) if (file !== undefined) entries.push(join(name, key))
}

/** Runs Node where the packages are unpacked. Returns 0, or 1 if that fails, and prints its output then. */
function runNode(...args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
  if (status !== 0) process.stdout.write(`node ${args.join(' ')}: ${stdout}${stderr}\n`)
  return status === 0 ? 0 : 1
}

/** Returns what the package lacks for npm: fields of its manifest, a README, or the repository's license. Empty if nothing. */
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
