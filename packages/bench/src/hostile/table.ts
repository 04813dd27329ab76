import { longestFlushes, ratios } from './measure.ts'
import { paths } from './paths.ts'

/**
 * `table.js [PATH…]` prints what each pattern takes on each path: as a ratio to plain text, and as its longest flush.
 */
const wanted = process.argv.slice(2)
const small = 8192
const large = 102_400

for (const path of paths.filter(({ id }) => wanted.length === 0 || wanted.includes(id))) {
  const short = ratios(path, small)
  const long = ratios(path, large)
  const flushes = longestFlushes(path, large)
  process.stdout.write(
    `\n${path.id}\n\n| pattern | 8 KB, × plain | 100 KB, × plain | longest flush, ms |\n|---|---|---|---|\n`,
  )
  for (const { id, value } of flushes) {
    const of = (findings: typeof short): string =>
      findings.find((finding) => finding.id === id)?.value.toFixed(1) ?? '1'
    process.stdout.write(`| ${id} | ${of(short)} | ${of(long)} | ${value.toFixed(1)} |\n`)
  }
}
