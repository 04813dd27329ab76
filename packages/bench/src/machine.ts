import { arch, cpus, loadavg, platform, totalmem } from 'node:os'

/** The machine's kind, without its name, and its load. The bench itself is a load of about 1. */
export function machine(): string {
  const [first] = cpus()
  const gigabytes = Math.round(totalmem() / 2 ** 30)
  const model = first?.model.trim() || 'unknown processor'
  const load = loadavg()[2]?.toFixed(1)
  return `${cpus().length} cores (${model}), ${gigabytes} GB, ${platform()} ${arch()}, Node ${process.versions.node}, V8 ${process.versions.v8}, load average ${load}`
}
