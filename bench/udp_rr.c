// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One byte there and one byte back, as netperf's UDP_RR: how many a second.
 *
 *	udp_rr server PORT [DEVICE]
 *	udp_rr client PORT ADDRESS SECONDS [DEVICE]
 *
 * The sockets are not connected, so every packet asks for its route.  ADDRESS
 * is IPv4, or IPv6 written out; DEVICE is what the socket is bound to.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static void check(int result, const char *what)
{
	if (result < 0) {
		perror(what);
		exit(1);
	}
}

static int open_socket(int port, const char *device)
{
	struct sockaddr_in6 any = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(port),
	};
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);

	check(fd, "socket");
	if (device)
		check(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device,
				 strlen(device) + 1), device);
	check(bind(fd, (struct sockaddr *)&any, sizeof(any)), "bind");
	return fd;
}

static void serve(int fd)
{
	struct sockaddr_in6 from;
	socklen_t size;
	char byte;

	for (;;) {
		size = sizeof(from);
		check(recvfrom(fd, &byte, 1, 0, (struct sockaddr *)&from,
			       &size), "recvfrom");
		check(sendto(fd, &byte, 1, 0, (struct sockaddr *)&from, size),
		      "sendto");
	}
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static double ask(int fd, const struct sockaddr_in6 *to, double seconds)
{
	struct timeval patience = { .tv_sec = 5 };
	double start = now(), end = start;
	long answers = 0;
	char byte = 0;

	check(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
			 sizeof(patience)), "SO_RCVTIMEO");
	while (end < start + seconds) {
		check(sendto(fd, &byte, 1, 0, (const struct sockaddr *)to,
			     sizeof(*to)), "sendto");
		check(recv(fd, &byte, 1, 0), "recv");
		/* The clock is not what is measured. */
		if (++answers % 16 == 0)
			end = now();
	}
	return answers / (end - start);
}

int main(int argc, char **argv)
{
	struct sockaddr_in6 to = { .sin6_family = AF_INET6 };
	char mapped[64];

	if (argc >= 3 && !strcmp(argv[1], "server"))
		serve(open_socket(atoi(argv[2]), argc > 3 ? argv[3] : NULL));
	if (argc < 5)
		return 2;
	snprintf(mapped, sizeof(mapped), "%s%s",
		 strchr(argv[3], ':') ? "" : "::ffff:", argv[3]);
	if (inet_pton(AF_INET6, mapped, &to.sin6_addr) != 1)
		return 2;
	to.sin6_port = htons(atoi(argv[2]));
	printf("%.1f\n", ask(open_socket(0, argc > 5 ? argv[5] : NULL), &to,
			     atof(argv[4])));
	return 0;
}
