import { arch, cpus, platform, totalmem } from 'node:os'

/** What the figures were measured on, without a name of it. */
export function machine(): string {
  const [first] = cpus()
  const gigabytes = Math.round(totalmem() / 2 ** 30)
  const model = first?.model.trim() || 'unknown processor'
  return `${cpus().length} cores (${model}), ${gigabytes} GB, ${platform()} ${arch()}, Node ${process.versions.node}, V8 ${process.versions.v8}`
}
