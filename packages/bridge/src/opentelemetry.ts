export { bridgeTracing, type TracingOptions } from './events/tracing.ts'
