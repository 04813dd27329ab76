// Builds the page of @reply/web, and bundles what the `reply` command loads, each package for itself: Node reads few files instead of hundreds. Programs for
// browsers get the single files of tsc, of which their own bundler leaves out more. Runs after tsc.
import { readFileSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { build as buildPage } from 'vite'

const root = fileURLToPath(new URL('..', import.meta.url))
const packages = [
  'reply',
  'sink',
  'telegram',
  'slack',
  'discord',
  'whatsapp',
  'ntfy',
  'bridge',
  'postgres',
  'web',
  'console',
]

await Promise.all(packages.map(bundle))
await buildPage({ configFile: `${root}packages/web/vite.config.mjs` })
await buildPage({ configFile: `${root}packages/web/vite.file.config.mjs` })

/**
 * Replaces a package's bundles in `dist/node`: one for each entry that has a condition "node", and in the console also the
 * `reply` command.
 */
async function bundle(name) {
  const folder = `${root}packages/${name}`
  const { exports } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
  const sources = Object.values(exports).flatMap((one) => (one.node === undefined ? [] : [one['@reply/source']]))
  const outdir = `${folder}/dist/node`
  rmSync(outdir, { recursive: true, force: true })
  await build({
    entryPoints: [...sources, ...(name === 'console' ? ['src/cli/main.ts'] : [])],
    absWorkingDir: folder,
    outbase: 'src',
    outdir,
    bundle: true,
    // Entries of a package share its state, and packages each other's: none is in two bundles.
    splitting: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    sourcemap: true,
    sourcesContent: false,
    logLevel: 'warning',
    logOverride: { 'ignored-bare-import': 'silent' },
  })
}
