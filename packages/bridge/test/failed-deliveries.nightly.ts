import { testFailedDeliveries } from './failing-deliveries.ts'

for (const seed of [2, 3, 4]) testFailedDeliveries(seed)
